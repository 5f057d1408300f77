/** Forks: from any earlier response of the connection, on any lane, without a copy of the transcript. */
import assert from 'node:assert/strict';

import type { Kept, ServerEvent } from '../../engine/index.js';
import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream } from '../testing/events.js';
import { isTerminal, type TPeer } from '../testing/peer.js';
import {
  answers,
  ask,
  checkNothingLeft,
  drop,
  ending,
  goOn,
  idOf,
  itemsIn,
  refused,
  work,
} from '../testing/turns.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const shim = { design: 'shim' };
const loop = [turn(call('ls')), turn(call('cat')), turn(say('done')), turn(say('and more'))];

/** The newest rollout's transcript. */
function newest({ lab }: Serving): Kept['transcript'] {
  const kept = lab.engine.live().at(-1)?.kept;
  assert.ok(kept);
  return kept.transcript;
}

overEveryWire('from every earlier response, in any order, as often as one likes (P31, P32)', async (wire) => {
  await using serving = await wire.serve(loop);
  const peer = await serving.connect(shim);
  const one = await ask(peer);
  const two = await goOn(peer, one);
  const three = await goOn(peer, two);
  assert.equal(work(serving).pre, 1);
  const prompts: string[] = [];
  for (const [parent, text] of [
    [one, 'x'],
    [two, 'y'],
    [one, 'z'],
    [three, null],
    [two, 'w'],
    [three, null],
  ] as const) {
    const input = text === null ? 'and?' : answers(parent, text);
    const fork = await ask(peer, { previous_response_id: idOf(parent), input });
    assert.equal(ending(fork), 'completed');
    prompts.push(serving.lab.prompt.join('|'));
  }
  const first = 'user: hi|assistant to=ls: {}';
  const second = `${first}|tool: ok call_1|assistant to=cat: {}`;
  const third = `${second}|tool: ok call_2|assistant: done|user: and?`;
  assert.deepEqual(prompts, [
    `${first}|tool: x call_1`,
    `${second}|tool: y call_2`,
    `${first}|tool: z call_1`,
    third,
    `${second}|tool: w call_2`,
    third,
  ]);
  assert.equal(work(serving).pre, 7);
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire(
  'an earlier response that owes answers owes them still, however its rollout went on',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    for (const turns of [1, 2, 3]) {
      const responses = [await ask(peer)];
      while (responses.length < turns) responses.push(await goOn(peer, responses.at(-1) ?? []));
      if (turns === 2) {
        for (const response of serving.lab.engine.live()) response.cancel();
        await serving.lab.settle();
      }
      // The one that was waiting when its rollout was cancelled is answered there.
      const owing = responses.slice(0, turns === 1 ? 1 : -1);
      for (const parent of owing) {
        const fault = await refused(peer, { previous_response_id: idOf(parent), input: 'never mind' });
        assert.equal(fault.error.code, 'missing_tool_output');
      }
    }
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire('a fork shares every entry of what it goes on from', async (wire) => {
  await using serving = await wire.serve(loop);
  const peer = await serving.connect(shim);
  const one = await ask(peer);
  const root = newest(serving);
  const two = await goOn(peer, one);
  const line = newest(serving);
  const fork = await goOn(peer, one, { input: answers(one, 'other') });
  const branch = newest(serving);
  assert.deepEqual([ending(two), ending(fork)], ['completed', 'completed']);
  for (let index = 0; index < root.length; index++) {
    assert.equal(line.at(index), root.at(index));
    assert.equal(branch.at(index), root.at(index));
  }
  assert.notEqual(branch.at(root.length), line.at(root.length));
  const grandchild = await goOn(peer, fork, { temperature: 0.5 });
  assert.equal(ending(grandchild), 'completed');
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire('a fork while its parent is suspended leaves it suspended, and both go on', async (wire) => {
  await using serving = await wire.serve(loop);
  const peer = await serving.connect(shim);
  const one = await ask(peer);
  const children: ServerEvent[][] = [];
  for (const temperature of [0.1, 0.2, 0.3]) children.push(await goOn(peer, one, { temperature }));
  const line = await goOn(peer, one);
  assert.deepEqual(work(serving), { pre: 4, append: 1, post: 0, bills: 0 });
  for (const [index, child] of children.entries())
    assert.equal(ending(await goOn(peer, child, { temperature: (index + 1) / 10 })), 'completed');
  assert.equal(ending(await goOn(peer, line)), 'completed');
  await serving.lab.settle();
  assert.deepEqual(work(serving), { pre: 4, append: 5, post: 4, bills: 4 });
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

/** Takes events until so many responses have ended, and gives each lane's. */
async function lanesOf(peer: TPeer, ends: number): Promise<ServerEvent[][]> {
  const lanes = new Map<unknown, ServerEvent[]>();
  for (let left = ends; left > 0;) {
    const event = await peer.next();
    const lane = 'stream_id' in event ? event['stream_id'] : '';
    lanes.set(lane, [...(lanes.get(lane) ?? []), event]);
    if (isTerminal(event)) left--;
  }
  return [...lanes.values()];
}

overEveryWire(
  'two lanes go on from one hand-off at the same moment: one resumes, one forks, both are right',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const create = { type: 'response.create', model: 'm', store: false, previous_response_id: idOf(one) };
    peer.sendTogether(
      { ...create, stream_id: 'a', input: answers(one, 'a') },
      { ...create, stream_id: 'b', input: answers(one, 'b') },
      { ...create, input: answers(one, 'c') },
    );
    const streams = await lanesOf(peer, 3);
    for (const events of streams) checkStream(events);
    assert.deepEqual(
      serving.lab.turns.slice(1).map(({ prompt }) => prompt.at(-1)),
      ['tool: a call_1', 'tool: b call_1', 'tool: c call_1'],
    );
    assert.deepEqual([work(serving).pre, work(serving).append], [3, 1]);
    const [a, b, c] = streams;
    for (const events of [b, a, c]) {
      assert.ok(events);
      assert.equal(ending(await goOn(peer, events)), 'completed');
      assert.deepEqual(serving.lab.prompt.slice(-1), [`tool: ok ${callIds(events)[0]}`]);
    }
    assert.equal(work(serving).pre, 3);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire('a lane may be advanced as soon as the fork from it has begun', async (wire) => {
  await using serving = await wire.serve(loop, { firstTokenMs: 1000 });
  const peer = await serving.connect(shim);
  peer.send({ type: 'response.create', model: 'm', store: false, input: 'hi' });
  await peer.rest();
  await serving.lab.clock.advance(1000);
  await peer.rest();
  const one = peer.received.filter(({ type }) => type !== 'error');
  const create = { type: 'response.create', model: 'm', store: false, previous_response_id: idOf(one) };
  peer.send({ ...create, stream_id: 'fork', input: answers(one, 'fork'), temperature: 0 });
  await peer.until('response.in_progress');
  peer.send({ ...create, input: answers(one, 'own') });
  await peer.until('response.in_progress');
  await serving.lab.clock.advance(1000);
  const streams = await lanesOf(peer, 2);
  assert.equal(streams.length, 2);
  assert.deepEqual(
    serving.lab.turns.slice(1).map(({ prompt }) => prompt.at(-1)),
    ['tool: fork call_1', 'tool: own call_1'],
  );
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire('a history sent in full finds the branch it belongs to', async (wire) => {
  await using serving = await wire.serve(loop);
  const first = await serving.connect(shim);
  const one = await ask(first);
  const line = await goOn(first, one, { input: answers(one, 'line') });
  const fork = await goOn(first, one, { input: answers(one, 'fork') });
  await drop(serving, first);
  const second = await serving.connect(shim);
  for (const [branch, text] of [
    [line, 'line'],
    [fork, 'fork'],
  ] as const) {
    const input = [
      message('hi'),
      ...itemsIn(one),
      ...answers(one, text),
      ...itemsIn(branch),
      ...answers(branch),
    ];
    assert.equal(ending(await ask(second, { input })), 'completed');
    assert.equal(serving.lab.prompt.includes(`tool: ${text} call_1`), true);
  }
  const crossed = [
    message('hi'),
    ...itemsIn(one),
    ...answers(one, 'line'),
    ...itemsIn(fork),
    output(callIds(fork)[0], 'x'),
  ];
  assert.equal(work(serving).pre, 2);
  assert.equal(ending(await ask(second, { input: crossed })), 'completed');
  assert.equal(work(serving).pre, 3, 'and what is of neither is another rollout');
  await drop(serving, second);
  await checkNothingLeft(serving);
});

overEveryWire('what a resume cannot take goes on from the transcript in a new rollout', async (wire) => {
  const made = { type: 'function_call', call_id: 'made', name: 'own', arguments: '{}' };
  for (const [items, blocks] of [
    [
      [made, output('made', 'up')],
      ['assistant to=own: {}', 'tool: up'],
    ],
    [
      [{ role: 'assistant', content: 'I see' }, message('and?')],
      ['assistant: I see', 'user: and?'],
    ],
  ] as const) {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const two = await goOn(peer, one, { input: [...answers(one), ...items] });
    assert.equal(ending(two), 'completed');
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: ok call_1', ...blocks]);
    assert.equal(work(serving).pre, 2);
    await drop(serving, peer);
    await checkNothingLeft(serving);
  }
});
