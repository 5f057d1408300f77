/** Clients that drop in the middle of a turn, and come back with their history. */
import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { begin, checkOne, cutAfter, finish, itemEvents, long, slow, slowLoop } from '../testing/drops.js';
import { callIds } from '../testing/events.js';
import { answers, checkNothingLeft, drop, ending, idOf, itemsIn, work } from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const key = { prompt_cache_key: 'thread' };

overEveryWire('a drop in mid-turn, nothing seen: the same words get the same turn, whole', async (wire) => {
  for (const waitMs of [0, 2000, 60_000]) {
    await using serving = await wire.serve(slowLoop, slow);
    const first = await serving.connect(shim);
    begin(first, { input: 'hi', ...key });
    await first.until('response.in_progress');
    await drop(serving, first);
    await serving.lab.clock.advance(waitMs);
    const second = await serving.connect(shim);
    begin(second, { input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }], ...key });
    const events = await finish(serving, second);
    assert.deepEqual(callIds(events), ['call_1', 'call_2', 'call_3']);
    assert.equal(serving.lab.turns.length, 1);
    await drop(serving, second);
    await checkOne(serving);
  }
});

overEveryWire(
  'a drop in mid-turn after a call that the client has run: the turn’s rest is shown, and each call is answered once',
  async (wire) => {
    for (const [waitMs, limits] of [
      [0, {}],
      [60_000, {}],
      [0, { keptResponsesMax: 0 }],
      [60_000, { keptResponsesMax: 0 }],
    ] as const) {
      await using serving = await wire.serve(slowLoop, { ...slow, limits });
      const { clock } = serving.lab;
      const first = await serving.connect(shim);
      const seen = await cutAfter(serving, first, 2, { input: 'hi' });
      assert.deepEqual(callIds(itemEvents(seen)), ['call_1']);
      await clock.advance(waitMs);
      const history = [message('hi'), ...itemsIn(seen), output('call_1', '1')];
      const second = await serving.connect(shim);
      begin(second, { input: history });
      const two = await finish(serving, second);
      assert.deepEqual(callIds(two), ['call_2', 'call_3']);
      assert.equal(ending(two), 'completed');
      await drop(serving, second);
      const third = await serving.connect(shim);
      const whole = [...history, ...itemsIn(two), output('call_3', '3'), output('call_2', '2')];
      begin(third, { input: whole });
      const three = await finish(serving, third);
      assert.deepEqual(callIds(three), ['call_4']);
      assert.deepEqual(serving.lab.prompt.slice(-6), [
        `assistant to=first: ${long}`,
        `assistant to=second: ${long}`,
        `assistant to=third: ${long}`,
        'tool: 1',
        'tool: 2',
        'tool: 3',
      ]);
      await drop(serving, third);
      await checkOne(serving);
    }
  },
);

overEveryWire(
  'after such a drop the rest of the calls can be answered by id, with other settings too',
  async (wire) => {
    for (const change of [{}, { temperature: 0.5 }]) {
      await using serving = await wire.serve(slowLoop, slow);
      const first = await serving.connect(shim);
      const seen = await cutAfter(serving, first, 3, { input: 'hi' });
      const second = await serving.connect(shim);
      begin(second, {
        input: [message('hi'), ...itemsIn(seen), output('call_1', '1'), output('call_2', '2')],
      });
      const two = await finish(serving, second);
      begin(second, { previous_response_id: idOf(two), input: [output('call_3', '3')], ...change });
      await finish(serving, second);
      assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
      assert.equal(work(serving).pre, 'temperature' in change ? 2 : 1);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'a turn whose every call was answered before it ended goes on within the one response',
  async (wire) => {
    const script = [turn(call('only', long), say('w'.repeat(40))), turn(say('done'))];
    await using serving = await wire.serve(script, slow);
    const first = await serving.connect(shim);
    const seen = await cutAfter(serving, first, 1, { input: 'hi' });
    const second = await serving.connect(shim);
    begin(second, { input: [message('hi'), ...itemsIn(seen), output('call_1', '1')] });
    const two = await finish(serving, second);
    assert.deepEqual(
      itemsIn(two).map((item) => 'content' in item && JSON.stringify(item.content).includes('done')),
      [false, true],
    );
    await drop(serving, second);
    await checkOne(serving);
  },
);

overEveryWire(
  'a drop during the final answer: its rest is shown, also when it has ended meanwhile',
  async (wire) => {
    for (const waitMs of [0, 60_000]) {
      await using serving = await wire.serve([turn(call('ls', long)), ...slowLoop.slice(2, 3)], slow);
      const { clock } = serving.lab;
      const first = await serving.connect(shim);
      begin(first, { input: 'hi' });
      const one = await finish(serving, first);
      const more = { previous_response_id: idOf(one), input: answers(one) };
      const seen = await cutAfter(serving, first, 1, more);
      await clock.advance(waitMs);
      assert.equal(serving.lab.engine.liveCount, waitMs === 0 ? 1 : 0);
      const second = await serving.connect(shim);
      const history = [message('hi'), ...itemsIn(one), ...answers(one), ...itemsIn(seen)];
      begin(second, { input: history });
      const two = await finish(serving, second);
      assert.equal(itemsIn(two).length, 1);
      assert.equal(ending(two), 'completed');
      begin(second, { previous_response_id: idOf(two), input: 'thanks' });
      await second.rest();
      await clock.advance(60_000);
      assert.equal(serving.lab.prompt.length, 6);
      assert.equal(work(serving).pre, 2);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire('a drop in a later turn shows that turn’s rest and nothing of those before', async (wire) => {
  for (const [waitMs, keptResponsesMax] of [
    [0, 64],
    [0, 1],
    [60_000, 64],
    [60_000, 1],
  ] as const) {
    await using serving = await wire.serve(slowLoop, { ...slow, limits: { keptResponsesMax } });
    const first = await serving.connect(shim);
    begin(first, { input: 'hi' });
    const one = await finish(serving, first);
    const seen = await cutAfter(serving, first, 1, { previous_response_id: idOf(one), input: answers(one) });
    await serving.lab.clock.advance(waitMs);
    const second = await serving.connect(shim);
    begin(second, { input: [message('hi'), ...itemsIn(one), ...answers(one), ...itemsIn(seen)] });
    const two = await finish(serving, second);
    assert.deepEqual([callIds(two), itemsIn(two).length], [['call_4'], 1]);
    await drop(serving, second);
    await checkOne(serving);
  }
});

overEveryWire(
  'a client that drops again and again in one turn is shown, each time, what it lacks',
  async (wire) => {
    await using serving = await wire.serve(slowLoop, slow);
    const history: unknown[] = [message('hi')];
    for (let round = 0; round < 3; round++) {
      const peer = await serving.connect(shim);
      const seen = await cutAfter(serving, peer, 1, { input: history, ...key });
      assert.equal(itemsIn(seen).length, 1);
      history.push(...itemsIn(seen), ...answers(itemEvents(seen)));
    }
    const peer = await serving.connect(shim);
    begin(peer, { input: history, ...key });
    const last = await finish(serving, peer);
    assert.deepEqual([callIds(last), itemsIn(last).length], [['call_3'], 1]);
    const closing = { previous_response_id: idOf(last), input: answers(last), ...key };
    begin(peer, closing);
    await finish(serving, peer);
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: ok call_1', 'tool: ok call_2', 'tool: ok call_3']);
    await drop(serving, peer);
    await checkOne(serving);
  },
);

overEveryWire(
  'a socket that reaches its age in mid-turn, or while a tool runs, loses nothing',
  async (wire) => {
    for (const ageMs of [1500, 30_000]) {
      await using serving = await wire.serve(slowLoop, { ...slow, limits: { socketAgeMsMax: ageMs } });
      const first = await serving.connect(shim);
      begin(first, { input: 'hi', ...key });
      await first.rest();
      await serving.lab.clock.advance(ageMs);
      assert.equal((await first.until('error')).error.code, 'websocket_connection_limit_reached');
      await first.closed;
      const shown = first.received.filter(({ type }) => type !== 'error');
      const seen = itemsIn(shown);
      assert.equal(seen.length, ageMs === 1500 ? 1 : 4);
      const whole = ageMs === 1500 ? [] : answers(shown);
      const second = await serving.connect(shim);
      begin(second, { input: [message('hi'), ...seen, ...whole], ...key });
      await second.until('response.in_progress');
      await serving.lab.clock.advance(ageMs - 1);
      await serving.lab.clock.advance(1);
      await second.closed;
      assert.equal(work(serving).pre, 1);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire(
  'a turn that was cut short or failed while its client was away is sampled anew',
  async (wire) => {
    for (const how of ['cut', 'failed'] as const) {
      const fault = new Error('broken');
      let turns = 0;
      await using serving = await wire.serve(
        () => {
          const cut = { items: [say('x'.repeat(400))], stallAfterTokens: 50 };
          if (turns++ > 0) return turn(say('done'));
          return how === 'cut'
            ? cut
            : { items: [say('x'.repeat(400))], failAfterTokens: { tokens: 50, fault } };
        },
        { ...slow, limits: { rolloutMsMax: 8000 } },
      );
      const first = await serving.connect(shim);
      begin(first, { input: 'hi', ...key });
      await first.until('response.in_progress');
      await drop(serving, first);
      await serving.lab.clock.advance(20_000);
      assert.equal(serving.lab.engine.liveCount, 0);
      const second = await serving.connect(shim);
      begin(second, { input: 'hi', ...key });
      assert.equal(ending(await finish(serving, second)), 'completed');
      assert.equal(work(serving).pre, 2);
      await drop(serving, second);
      await checkNothingLeft(serving);
    }
  },
);
