import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  deviceNumberOf,
  leftoversIn,
  namesOf,
  setUpCommands,
  tearDownCommands,
  type KernelOptions,
} from './namespace-commands.js';

const kernel: KernelOptions = { congestion: 'cubic', slowStartAfterIdle: false };
const textsOf = (commands: readonly { program: string; words: readonly string[] }[]): readonly string[] =>
  commands.map(({ program, words }) => [program, ...words].join(' '));

test('names differ by process, path and side, and fit in what the kernel allows', () => {
  const all = [namesOf(4_194_304, 0), namesOf(4_194_304, 9), namesOf(1, 0)]
    .flat()
    .flatMap(({ namespace, tap }) => [namespace, tap]);
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.every((name) => name.length <= 15));
});

test('a side is made with the settings that were asked for, and knows the other side', () => {
  const [client, server] = namesOf(7, 0);
  assert.ok(client !== undefined && server !== undefined);
  const commands = textsOf(setUpCommands(client, kernel));
  assert.equal(commands[0], 'ip netns add lr-7-0c');
  for (const command of [
    'ip link add lr-7-0c type veth peer name eth0 netns lr-7-0c',
    'ip -n lr-7-0c addr add 198.18.0.1/30 dev eth0',
    'ip -n lr-7-0c route replace 198.18.0.0/30 dev eth0 src 198.18.0.1 congctl cubic',
    'ip -n lr-7-0c neigh replace 198.18.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent',
  ])
    assert.ok(commands.includes(command), command);
  assert.match(commands.at(-1) ?? '', /echo 0 > \/proc\/sys\/net\/ipv4\/tcp_slow_start_after_idle/);
  assert.match(
    textsOf(setUpCommands(server, { congestion: 'reno', slowStartAfterIdle: true })).join('\n'),
    /congctl reno\n[^]*echo 1 > \/proc\/sys\/net\/ipv4\/tcp_slow_start_after_idle/,
  );
});

test('what one command list makes the other ends', () => {
  assert.deepEqual(textsOf(tearDownCommands(namesOf(7, 2))), [
    'ip link delete lr-7-2c',
    'ip netns delete lr-7-2c',
    'ip link delete lr-7-2s',
    'ip netns delete lr-7-2s',
  ]);
});

test('leftovers are those of processes that are no more, once each, and nothing of anybody else', () => {
  const listing = [
    'lr-100-0c (id: 3)',
    'lr-100-0s',
    'lr-200-0c',
    'blue',
    'lr-100-0x',
    '1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue',
    '20: lr-100-0c@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500',
    '21: lr-100-0ct@lr-100-0c: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500',
    '30: lr-300-12s@if2: <BROADCAST,MULTICAST> mtu 1500',
    '40: lr-200-0c@if2: <BROADCAST,MULTICAST> mtu 1500',
  ].join('\n');
  assert.deepEqual(
    leftoversIn(listing, (pid) => pid === 200).map(({ namespace }) => namespace),
    ['lr-100-0c', 'lr-100-0s', 'lr-300-12s'],
  );
  assert.deepEqual(
    leftoversIn('', () => false),
    [],
  );
});

test('a device number is read from what the kernel shows', () => {
  assert.equal(deviceNumberOf('246:1\n'), 246 * 256 + 1);
  assert.equal(deviceNumberOf('246:300'), 246 * 256 + 44 + 2 ** 20);
  assert.equal(deviceNumberOf('tap9'), null);
});
