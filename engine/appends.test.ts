import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  call,
  callIdsOf,
  eventsOfType,
  Lab,
  message,
  output,
  refusal,
  say,
  turn,
  unitTokenizer,
} from './testing/lab.js';

const twoCalls = [turn(call('a'), call('b')), turn(call('c')), turn(say('done'))];

test('appends are taken in the order they came, the slow ones too (A1)', async () => {
  const lab: Lab = new Lab(twoCalls, {
    engine: {
      tokenizer: {
        encode(text, signal) {
          const tokens = unitTokenizer.encode(text, signal);
          return text === 'slow' ? lab.clock.sleep(100, signal).then(() => tokens) : tokens;
        },
      },
    },
  });
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const appends = [
    response.append([output(a, 'slow')]),
    response.append([output(a, 'other')]),
    response.append([output(b, 'quick'), message('and this')]),
  ];
  const results = await lab.clock.runUntil(Promise.allSettled(appends));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(lab.turns[1]?.prompt.slice(-3), ['tool: slow', 'tool: quick', 'user: and this']);
});

test('what an append pays and its acknowledgement are one step in the log (A2)', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const accepted = await lab.append(response, output(b, '2'));
  assert.deepEqual(accepted, {
    type: 'response.append.accepted',
    sequence_number: accepted.sequence_number,
    response_id: response.id,
    turn: 1,
    call_ids: [b],
    messages: 0,
    required_input: [{ type: 'function_call_output', call_id: a, name: 'a' }],
  });
  assert.deepEqual(eventsOfType(response, 'response.append.accepted'), [accepted]);
});

test('a resend gets the acknowledgement of its first sending, whatever was sent between and after (A3, B5)', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const first = await lab.append(response, output(a, '1'));
  const second = await lab.append(response, output(a, '1'), output(b, '2'));
  assert.deepEqual(await lab.append(response, output(a, '1')), first);
  assert.deepEqual(await lab.append(response, output(b, '2')), second);
  assert.deepEqual(await lab.append(response, output(a, '1'), output(b, '2')), second);
  assert.equal(eventsOfType(response, 'response.append.accepted').length, 2);
});

test('answers and a message sent again bring no second message, during the turn and after the end (A3, S2)', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const first = await lab.append(response, output(a, '1'), message('careful'));
  assert.deepEqual([first.call_ids, first.messages], [[a], 1]);
  assert.deepEqual(await lab.append(response, output(a, '1'), message('careful')), first);
  await lab.append(response, output(b, '2'));
  assert.deepEqual(await lab.append(response, output(a, '1'), message('careful')), first);
  assert.deepEqual(lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: careful']);
  await lab.append(response, output(callIdsOf(response)[2], '3'));
  assert.deepEqual(await lab.append(response, output(a, '1'), message('careful')), first);
  assert.equal((await refusal(response.append([message('careful')]))).code, 'response_already_completed');
});

test('another message beside an answer that was given before is a new message', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, output(a, '1'), message('careful'));
  const again = await lab.append(response, output(a, '1'), message('really'));
  assert.deepEqual([again.call_ids, again.messages], [[a], 1]);
  await lab.append(response, output(b, '2'), message('now'));
  assert.deepEqual(lab.prompt.slice(-3), ['user: careful', 'user: really', 'user: now']);
});

test('a resend whose acknowledgement the log has dropped is acknowledged all the same, with what is owed now', async () => {
  const lab = new Lab(twoCalls, { engine: { limits: { logBytesMax: 1 } } });
  const response = await lab.create();
  const [a, b] = callIdsOfKept(response.requiredInput);
  const { sequence_number } = await lab.append(response, output(a, '1'));
  await lab.append(response, message('and'));
  const again = await lab.append(response, output(a, '1'));
  assert.deepEqual([again.sequence_number, again.call_ids], [sequence_number, [a]]);
  assert.deepEqual(callIdsOfKept(again.required_input), [b]);
});

function callIdsOfKept(required: readonly { call_id: string }[]): string[] {
  return required.map((stub) => stub.call_id);
}

test('an answer that a create brought is acknowledged when it comes again, though no append ever brought it', async () => {
  const lab = new Lab(({ context }) =>
    context.transcript.output('old') !== null && context.transcript.turns === 1
      ? turn(call('a'))
      : turn(say('x')),
  );
  const history = [
    message('hi'),
    { type: 'function_call', call_id: 'old', name: 'ls', arguments: '{}' },
    output('old', 'etc'),
  ];
  const response = await lab.create({ input: history });
  const again = await lab.append(response, output('old', 'etc'));
  assert.deepEqual([again.call_ids, callIdsOfKept(again.required_input)], [['old'], callIdsOf(response)]);
  assert.equal(response.suspended, true);
});

test('after a cancel an output that happens to say what the engine wrote for nobody is refused (A3, B107)', async () => {
  const lab = new Lab(twoCalls);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, output(a, '1'));
  response.cancel();
  await lab.settle();
  assert.deepEqual(response.kept.transcript.output(b ?? ''), output(b, 'aborted'));
  assert.equal((await refusal(response.append([output(b, 'aborted')]))).code, 'response_already_completed');
  assert.equal((await lab.append(response, output(a, '1'))).call_ids[0], a);
});

test('a Response that hands off by completing goes on where its turn owes nothing, and else keeps what it was given', async () => {
  const slow = { decodeTokensPerSecond: 1000 };
  for (const answersAll of [true, false]) {
    const lab = new Lab(
      [turn(call('a', '{"long":"argument"}'), call('b', '{"long":"argument"}')), turn(say('done'))],
      slow,
    );
    const response = await lab.create('hi', { handOff: 'complete' });
    await lab.clock.advance(1);
    await response.append([output(callIdsOf(response)[0], 'early')]);
    while (callIdsOf(response).length < 2) await lab.clock.advance(1);
    const [a, b] = callIdsOf(response);
    if (answersAll) await response.append([output(b, 'early too')]);
    await lab.clock.runToIdle();
    assert.equal(response.settlement?.outcome.status, 'completed');
    assert.equal(lab.turns.length, answersAll ? 2 : 1);
    assert.deepEqual(response.kept.owed, answersAll ? [] : [b]);
    assert.notEqual(response.kept.transcript.output(a ?? ''), null);
    assert.equal((await refusal(response.append([message('more')]))).code, 'response_already_completed');
  }
});

test('more messages than may wait are refused, and those that wait are kept', async () => {
  const lab = new Lab(twoCalls, { engine: { limits: { pendingMessagesMax: 2 } } });
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  await lab.append(response, message('one'), message('two'));
  const refused = await refusal(response.append([output(a, '1'), message('three')]));
  assert.deepEqual([refused.code, refused.param], ['limit_exceeded', 'input']);
  await lab.append(response, output(a, '1'), output(b, '2'));
  assert.deepEqual(lab.prompt.slice(-4), ['tool: 1', 'tool: 2', 'user: one', 'user: two']);
});
