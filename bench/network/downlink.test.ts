import { test } from 'node:test';
import assert from 'node:assert/strict';

import { Downlink } from './downlink.js';
import type { NetworkModel } from './model.js';

const network: NetworkModel = {
  rttMs: 50,
  bytesPerSecond: Infinity,
  restartsAfterIdle: true,
  connection: 'kept',
  tls: false,
  eventBytes: true,
};
const whole = 25_000;

test('without their bytes events take half a round trip, whatever they hold and whenever they come', () => {
  const downlink = new Downlink({ ...network, eventBytes: false });
  assert.deepEqual(
    [downlink.send(whole, 0), downlink.send(whole, 0), downlink.send(0, 3000)],
    [25, 25, 3025],
  );
});

test('events of one moment share a window: two whole Responses on a new connection wait one round trip, then two', () => {
  const downlink = new Downlink(network);
  assert.deepEqual([downlink.send(whole, 0), downlink.send(whole, 0)], [75, 125]);
});

test('nothing overtakes what was sent before it', () => {
  const downlink = new Downlink(network);
  downlink.send(whole, 0);
  assert.equal(downlink.send(0, 5), 75);
});

test('a window that was used lately carries the next Response at once, and one that was idle does not', () => {
  const downlink = new Downlink(network);
  downlink.send(whole, 0);
  assert.equal(downlink.send(whole, 200) - 200, 25);
  assert.equal(downlink.send(whole, 3000) - 3000, 75);
});

test('a rate is paid for every byte, also where windows stay open', () => {
  const downlink = new Downlink({ ...network, restartsAfterIdle: false, bytesPerSecond: 1_000_000 });
  assert.deepEqual([downlink.send(whole, 0), downlink.send(whole, 0)], [50, 75]);
});
