import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../clock.js';
import type { Clock } from '../ports.js';
import type { SamplerEvent } from './sampler.js';
import { dueMs, scriptedSampler, type ScriptItem } from './scripted.js';
import {
  assistant,
  delta,
  end,
  entry,
  firstTurn,
  item,
  openingOf,
  prefill,
  record,
  say,
  scripted,
  transcriptOf,
  turnOn,
  user,
  type Told,
} from './testing/turns.js';

test('without a speed a whole turn comes at once, in order, and no timer is set', async () => {
  const clock: Clock = Object.assign(new VirtualClock(), {
    after: () => assert.fail('a timer was set'),
    sleep: () => assert.fail('something slept'),
  });
  const tokens = Uint32Array.of(1, 2, 3);
  const opaque = { type: 'web_search_call', opaque: true } as const;
  const items: ScriptItem[] = [
    { type: 'reasoning', summary: 'thinking' },
    { type: 'opaque', item: opaque },
    { type: 'function_call', name: 'ls', namespace: 'shell', arguments: '{"path":"/"}', tokens },
    { type: 'custom_tool_call', name: 'patch', input: '***' },
    say(''),
  ];
  const events: SamplerEvent[] = [];
  const session = scriptedSampler({ script: [{ items }], clock }).open(openingOf());
  for await (const event of session.sample(firstTurn, new AbortController().signal)) events.push(event);
  assert.deepEqual(events, [
    prefill,
    { type: 'item', key: 0, start: { type: 'reasoning' } },
    delta(0, 'thinking', 2),
    end(0),
    { type: 'item', key: 1, start: { type: 'opaque', item: opaque } },
    { type: 'item', key: 2, start: { type: 'function_call', name: 'ls', namespace: 'shell' } },
    delta(2, '{"path":"/"}', 3),
    { type: 'item_end', key: 2, tokens },
    { type: 'item', key: 3, start: { type: 'custom_tool_call', name: 'patch', namespace: undefined } },
    delta(3, '***', 1),
    end(3),
    item(4),
    end(4),
  ]);
});

test('tokens come by the schedule, gathered for a tick, the first and the last of an item when they are due', async () => {
  const { clock, sampler } = scripted(
    { items: [say('a'.repeat(4 * 10)), say('bbbb')] },
    { prefillTokensPerSecond: 1000, decodeTokensPerSecond: 1000, firstTokenMs: 100, tickMs: 4 },
  );
  assert.deepEqual(await record(clock, sampler), [
    [0, prefill],
    [120, item(0)],
    [120, delta(0, 'aaaa', 1)],
    [124, delta(0, 'a'.repeat(16), 4)],
    [128, delta(0, 'a'.repeat(16), 4)],
    [129, delta(0, 'aaaa', 1)],
    [129, end(0)],
    [130, item(1)],
    [130, delta(1, 'bbbb', 1)],
    [130, end(1)],
  ]);
  assert.equal(clock.pending, 0);
});

test('tokens slower than the tick come one by one, each when it is due', async () => {
  const { clock, sampler } = scripted({ items: [say('aaaabbbbcccc')] }, { decodeTokensPerSecond: 8 });
  assert.deepEqual(await record(clock, sampler), [
    [0, prefill],
    [0, item(0)],
    [0, delta(0, 'aaaa', 1)],
    [125, delta(0, 'bbbb', 1)],
    [250, delta(0, 'cccc', 1)],
    [250, end(0)],
  ]);
});

test('bursts come at once and keep the mean speed', async () => {
  const { clock, sampler } = scripted(
    { items: [say('aaaabbbbccccddddeeee')] },
    { decodeTokensPerSecond: 100, burstTokens: 3 },
  );
  assert.deepEqual(await record(clock, sampler), [
    [0, prefill],
    [0, item(0)],
    [0, delta(0, 'aaaabbbbcccc', 3)],
    [30, delta(0, 'ddddeeee', 2)],
    [30, end(0)],
  ]);
});

test('a reader that was late gets all that is due in one piece, and lateness does not add up', async () => {
  const { clock, sampler } = scripted({ items: [say('a'.repeat(40))] }, { decodeTokensPerSecond: 100 });
  const events = sampler.open(openingOf()).sample(firstTurn, new AbortController().signal);
  const steps = events[Symbol.asyncIterator]();
  const next = async () => [(await clock.runUntil(steps.next())).value, clock.now()];
  assert.deepEqual(
    [await next(), await next(), await next()],
    [
      [prefill, 0],
      [item(0), 0],
      [delta(0, 'aaaa', 1), 0],
    ],
  );
  await clock.advance(55);
  assert.deepEqual(await next(), [delta(0, 'a'.repeat(20), 5), 55]);
  assert.deepEqual(await next(), [delta(0, 'aaaa', 1), 60]);
});

test('the schedule is a pure function of the token, the pace and what was read', () => {
  assert.equal(dueMs(7, {}, 1000), 0);
  const pace = { prefillTokensPerSecond: 500, decodeTokensPerSecond: 50, firstTokenMs: 3, burstTokens: 2 };
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((k) => dueMs(k, pace, 250)),
    [503, 503, 543, 543, 583],
  );
});

test('fractions of a millisecond neither repeat a wait nor lose a token', async () => {
  const { clock, sampler } = scripted(
    { items: [say('x'.repeat(4 * 500))] },
    { decodeTokensPerSecond: 333, prefillTokensPerSecond: 7, firstTokenMs: 0.1, tickMs: 0 },
  );
  const deltas = (await record(clock, sampler)).filter(([, event]) => event.type === 'delta');
  assert.equal(deltas.length, 500);
  assert.ok(
    deltas.every(
      ([ms], k) =>
        ms === dueMs(k, { decodeTokensPerSecond: 333, prefillTokensPerSecond: 7, firstTokenMs: 0.1 }, 20),
    ),
  );
});

test('a fault comes right after the given tokens, or at the end of a shorter turn', async () => {
  const fault = new Error('the model broke');
  const whole: Told[] = [
    [0, prefill],
    [200, item(0)],
    [200, delta(0, 'aaaa', 1)],
    [210, delta(0, 'bbbb', 1)],
    [210, end(0)],
  ];
  for (const [tokens, events] of [
    [0, 1],
    [1, 3],
    [9, 5],
  ] as const) {
    const { clock, sampler } = scripted(
      { items: [say('aaaabbbb')], failAfterTokens: { tokens, fault } },
      { decodeTokensPerSecond: 100, prefillTokensPerSecond: 100 },
    );
    const told: Told[] = [];
    await assert.rejects(record(clock, sampler, firstTurn, { told }), fault);
    assert.deepEqual(told, whole.slice(0, events));
    assert.deepEqual([clock.now(), sampler.stats.aborted], [events === 5 ? 210 : 200, 0]);
  }
});

test('a stalled turn says nothing more, sets no timer, and ends when it is aborted', async () => {
  const { clock, sampler } = scripted({ items: [say('aaaabbbb')], stallAfterTokens: 1 });
  const controller = new AbortController();
  const reason = new Error('enough');
  clock.after(60_000, () => controller.abort(reason));
  const told: Told[] = [];
  await assert.rejects(record(clock, sampler, firstTurn, { signal: controller.signal, told }), reason);
  assert.deepEqual(told, [
    [0, prefill],
    [0, item(0)],
    [0, delta(0, 'aaaa', 1)],
  ]);
  assert.deepEqual([clock.now(), clock.pending], [60_000, 0]);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  assert.equal(sampler.stats.aborted, 1);
});

test('an abort ends a waiting turn at once with its reason, leaving no timer and no listener', async () => {
  for (const abortMs of [5, 25, 45]) {
    const { clock, sampler } = scripted(
      { items: [say('a'.repeat(400))] },
      { decodeTokensPerSecond: 100, firstTokenMs: 20 },
    );
    const controller = new AbortController();
    const reason = new Error('enough');
    clock.after(abortMs, () => controller.abort(reason));
    await assert.rejects(record(clock, sampler, firstTurn, { signal: controller.signal }), reason);
    assert.deepEqual([clock.now(), clock.pending], [abortMs, 0]);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  }
});

test('an array script is played by the turns that the conversation has sampled, in whatever session', async () => {
  const { clock, sampler } = scripted({}, { script: [{ items: [say('one.')] }, { items: [say('two.')] }] });
  const once = transcriptOf(entry(user('a'), 4), entry(assistant('one.'), 1), entry(user('b'), 4));
  const twice = once.extend([entry(assistant('two.'), 1), entry(user('c'), 4)]);
  const second = await record(clock, sampler, turnOn(once));
  assert.deepEqual(second[2], [0, delta(0, 'two.', 1)]);
  await assert.rejects(
    record(clock, sampler, turnOn(twice)),
    /the script has 2 turns, and the conversation has sampled 2/,
  );
});

test('a script function sees the turn and what the session was opened for', async () => {
  const seen: unknown[] = [];
  const clock = new VirtualClock();
  const sampler = scriptedSampler({
    clock,
    script: (turn, opening) => {
      seen.push(turn, opening);
      return { items: [] };
    },
  });
  const opening = openingOf({ metadata: { scenario: 'a' } });
  assert.deepEqual(await record(clock, sampler.open(opening)), [[0, prefill]]);
  assert.deepEqual(seen, [firstTurn, opening]);
});

test('stats count sessions, turns and tokens, and misuse of a session is named', async () => {
  const { clock, sampler } = scripted({ items: [say('done')] });
  const session = sampler.open(openingOf());
  await record(clock, session);
  session.suspend();
  await record(clock, session);
  session.release();
  assert.throws(() => session.release(), /released twice/);
  await assert.rejects(record(clock, session), /released session was sampled/);
  sampler.open(openingOf());
  assert.deepEqual(sampler.stats, {
    opened: 2,
    released: 1,
    turns: 2,
    aborted: 0,
    suspended: 1,
    heldTokens: 0,
    readTokens: 40,
  });
  assert.equal(sampler.contextTokensMax, 400_000);
});

test('speeds, times and sizes that cannot be are refused', () => {
  for (const options of [
    { decodeTokensPerSecond: 0 },
    { prefillTokensPerSecond: -1 },
    { firstTokenMs: NaN },
    { tickMs: -1 },
    { burstTokens: 1.5 },
    { burstTokens: Infinity },
    { deltaTokensMax: 0.5 },
    { contextTokensMax: 0 },
  ])
    assert.throws(() => scripted({}, options), RangeError);
});
