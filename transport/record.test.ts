import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Stage } from '../engine/index.js';
import { call, customCall, message, output, say, turn } from '../engine/testing/lab.js';
import type { RecordedTurn } from './record-lines.js';
import { builtinDesigns } from './designs.js';
import { callIds } from './testing/events.js';
import { isPause } from './testing/peer.js';
import { paused, playRollout, recorded, rollouts } from './testing/recorded.js';
import { idOf, itemsIn } from './testing/turns.js';

const script = [turn(say('look here'), call('a', '{"n":1}'), call('b', '{"n":2}')), turn(say('all done'))];
const pace = { firstTokenMs: 20, decodeTokensPerSecond: 100, deltaTokensMax: 1, tickMs: 0 };
const answered = async (_turn: number, calls: readonly string[]) => calls.map((id) => output(id, 'seen it'));

/** What a client brings and a model writes in a turn, by kind and size. */
function sizes({ input, output: written }: RecordedTurn): string {
  const size = (items: readonly { kind: string; tokens: number }[]) =>
    items.map(({ kind, tokens }) => `${kind} ${tokens}`).join(', ');
  return `${size(input)} → ${size(written)}`;
}

test('every built-in design is played here', () => {
  assert.deepEqual(Object.keys(rollouts).sort(), builtinDesigns.map(({ name }) => name).sort());
});

for (const design of Object.keys(rollouts))
  test(`${design}: a turn is one line with its design and its sizes, and nothing that is said or secret`, async () => {
    await using recording = await recorded(script, { keys: ['sk-secret'] });
    const { serving } = recording;
    const request = {
      model: 'm',
      instructions: 'Be kind.',
      input: 'hello there',
      tools: [
        { type: 'function', name: 'a', description: 'private tool' },
        { type: 'function', name: 'b' },
      ],
      metadata: { who: 'private person' },
      prompt_cache_key: 'private key',
    };
    await playRollout(serving, design, request, answered, 'sk-secret');
    const turns = recording.turns();
    assert.deepEqual(turns.map(sizes), [
      'message 11 → message 9, call 7, call 7',
      'output 7, output 7 → message 8',
    ]);
    const [first, second] = turns;
    assert.ok(first && second);
    assert.deepEqual(
      [first.design, first.model, first.turn, first.instructions_tokens, first.tools_count],
      [design, 'm', 1, 8, 2],
    );
    assert.deepEqual([first.history_items, first.history_tokens], [0, 0]);
    assert.deepEqual([second.history_items, second.history_tokens], [4, 34]);
    const own = second.response_id === first.response_id;
    assert.equal(own, design === 'append' || design === 'shim');
    assert.equal(second.continues, design === 'chain' ? first.response_id : null);
    assert.doesNotMatch(JSON.stringify(turns), /secret|private|kind\.|hello|look|seen|"text"/);
  });

test('times are those of the model, and of the server that a client waits for', async () => {
  const slow: Stage = {
    name: 'slow',
    phases: ['pre', 'post', 'append'],
    reads: 'new',
    refuses: false,
    critical: true,
    run: ({ signal }) => recordingClock().sleep(300, signal),
  };
  const recording = await recorded([turn(call('a', '"0123456789"')), turn(say('ok'))], {
    ...pace,
    engine: { stages: (standard) => [...standard, slow] },
  });
  await using _ended = recording;
  const { serving } = recording;
  function recordingClock() {
    return recording.serving.lab.clock;
  }
  const waits = async (_turn: number, calls: readonly string[]) => {
    await serving.lab.clock.advance(5000);
    return answered(1, calls);
  };
  for (const design of ['append', 'chain'])
    await playRollout(serving, design, { model: 'm', input: 'hi' }, waits);
  const turns = recording.turns();
  assert.deepEqual(
    turns.map(
      ({ started_at_ms, first_token_ms, decode_tokens_per_second, ended_at_ms, handed_off_at_ms }) => [
        first_token_ms,
        decode_tokens_per_second,
        ended_at_ms - started_at_ms,
        handed_off_at_ms - ended_at_ms,
      ],
    ),
    [
      [20, 100, 40, 0],
      [20, null, 20, 300],
      [20, 100, 40, 300],
      [20, null, 20, 300],
    ],
    'the Response of a chain ends with its turn, so its client waits for what comes after inference',
  );
  for (const [before, after] of [turns.slice(0, 2), turns.slice(2)])
    assert.equal(
      (after?.input[0]?.at_ms ?? 0) - (before?.handed_off_at_ms ?? 0),
      5000,
      'the tool ran while nobody worked on its output',
    );
});

test('outputs that come one by one have a time each, an early one a time before the hand-off', async () => {
  await using recording = await recorded(
    [turn(call('a', '"xx"'), call('b', `"${'x'.repeat(398)}"`)), turn(say('ok'))],
    pace,
  );
  const { serving } = recording;
  const { clock } = serving.lab;
  await using peer = await serving.connect();
  const id = await clock.runUntil(peer.create());
  await clock.advance(500);
  const [a] = callIds(peer.received);
  peer.append(id, output(a, 'early'));
  const events = [...peer.received, ...(await clock.runUntil(peer.through(isPause)))];
  const b = callIds(events).find((callId) => callId !== a);
  await clock.advance(700);
  peer.append(id, output(b, 'late'));
  await paused(serving, peer);
  await serving.lab.settle();
  const [first, second] = recording.turns();
  const waits = second?.input.map(({ at_ms }) => (at_ms ?? 0) - (first?.handed_off_at_ms ?? 0)) ?? [];
  assert.equal(waits.length, 2);
  assert.ok((waits[0] ?? 0) < 0);
  assert.equal(waits[1], 700);
});

test('a history in whatever order gives what is new in it, and of a later request the message alone', async () => {
  const said = [...script, turn(say('bye'))];
  await using recording = await recorded(() => said.shift() ?? turn());
  const { serving } = recording;
  await using peer = await serving.connect({ design: 'replay' });
  const history: object[] = [
    message('hi'),
    { type: 'message', role: 'assistant', content: 'yes?' },
    message('go'),
  ];
  peer.send({ type: 'response.create', model: 'm', input: history });
  const events = await paused(serving, peer);
  const outputs = callIds(events).map((id) => output(id, 'seen it'));
  const [text, a, b] = itemsIn(events);
  history.push(text ?? {}, a ?? {}, outputs[0] ?? {}, b ?? {}, outputs[1] ?? {}, message('quick'));
  peer.send({ type: 'response.create', model: 'm', input: history });
  history.push(...itemsIn(await paused(serving, peer)), message('thanks'));
  peer.send({ type: 'response.create', model: 'm', input: history });
  await paused(serving, peer);
  await serving.lab.settle();
  assert.deepEqual(recording.turns().map(sizes), [
    'message 2 → message 9, call 7, call 7',
    'output 7, output 7, message 5 → message 8',
    'message 6 → message 3',
  ]);
});

test('a turn that failed, one that was cancelled and one that was cut at its bound say so', async () => {
  const broken = { ...turn(say('no')), failAfterTokens: { tokens: 1, fault: new Error('broken') } };
  await using recording = await recorded(
    ({ context }) => (context.tokens > 60 ? broken : turn(say('x'.repeat(400)))),
    pace,
  );
  const { serving } = recording;
  const { lab } = serving;
  const failed = await lab.create('x'.repeat(60));
  await lab.clock.advance(100);
  const cancelled = await lab.create();
  await lab.clock.advance(100);
  cancelled.cancel();
  await lab.create({ input: 'hi', max_output_tokens: 20 });
  await lab.clock.advance(1000);
  await failed.settled;
  assert.deepEqual(
    recording.turns().map(({ end, design }) => [end, design]),
    [
      ['failed', null],
      ['cut', null],
      ['cut', null],
    ],
  );
});

test('a create that is refused leaves no line, and calls that nobody answered have no time', async () => {
  await using recording = await recorded([turn(customCall('sh', 'ls'))], { text: true });
  const { serving } = recording;
  await using peer = await serving.connect();
  peer.send({ type: 'response.create', model: 'unserved', input: 'hi' });
  assert.equal((await peer.next()).type, 'error');
  peer.cancel(idOf(await peer.turn()));
  await peer.through('response.incomplete');
  await serving.lab.settle();
  assert.deepEqual(
    recording.turns().map(({ output: written }) => written.map(({ kind, text }) => [kind, text])),
    [[['call', 'ls']]],
  );
});

test('texts are kept where they are asked for', async () => {
  await using recording = await recorded(script, { text: true });
  await playRollout(recording.serving, 'shim', { model: 'm', input: 'hello there' }, answered);
  assert.deepEqual(
    recording.turns().flatMap(({ input, output: written }) => [...input, ...written].map(({ text }) => text)),
    ['hello there', 'look here', '{"n":1}', '{"n":2}', 'seen it', 'seen it', 'all done'],
  );
});

test('a compaction begins the context anew, and the line after it says so', async () => {
  await using recording = await recorded(({ context }) =>
    context.transcript.turns < 3 ? turn(call('a', `"${'x'.repeat(38)}"`)) : turn(say('ok')),
  );
  const request = {
    model: 'm',
    input: 'hi',
    context_management: [{ type: 'compaction', compact_threshold: 200 }],
  };
  await playRollout(recording.serving, 'append', request, async (_, calls) =>
    calls.map((id) => output(id, 'y'.repeat(50))),
  );
  const turns = recording.turns();
  assert.deepEqual(
    turns.map(({ compacted, input }) => [compacted, input.map(({ tokens }) => tokens)]),
    [
      [undefined, [2]],
      [undefined, [50]],
      [true, [50]],
      [true, [50]],
    ],
  );
});
