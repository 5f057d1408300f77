/** What a request and a model bound: output tokens, tool calls, context. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import {
  call,
  callIdsOf,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  postRuns,
  refusal,
  say,
  turn,
} from '../testing/lab.js';

/** A message of so many output tokens: the script counts one for four characters. */
const saying = (tokens: number) => say('abcd'.repeat(tokens));
/** A context of so many tokens: `<user<…>` around the text. */
const inputOf = (tokens: number) => 'x'.repeat(tokens - '<user<>'.length);

test('output exactly at max_output_tokens is complete', async () => {
  const lab = new Lab([turn(saying(10))]);
  const response = await lab.create({ max_output_tokens: 10 });
  assert.deepEqual((await response.settled).outcome, { status: 'completed' });
  assert.equal(response.snapshot().usage?.output_tokens, 10);
});

test('output beyond max_output_tokens ends the Response as incomplete, its last item too (P58)', async () => {
  const lab = new Lab([turn(saying(10), say('more'))]);
  const response = await lab.create({ max_output_tokens: 9 });
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_output_tokens' });
  const last = eventsOf(response).at(-1);
  assert.ok(last?.type === 'response.incomplete');
  assert.deepEqual(last.response.incomplete_details, { reason: 'max_output_tokens' });
  assert.deepEqual(
    last.response.output.map((item) => item['status']),
    ['incomplete'],
  );
  assert.equal(last.response.usage?.output_tokens, 9);
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('max_output_tokens bounds the whole rollout, whose turns share it', async () => {
  const script = (last: number) => [turn(call('a')), turn(call('b')), turn(saying(last))];
  for (const [last, status] of [
    [3, 'completed'],
    [4, 'incomplete'],
  ] as const) {
    const lab = new Lab(script(last));
    const response = await lab.create({ max_output_tokens: 5 });
    await lab.append(response, output('call_1', '1'));
    await lab.append(response, output('call_2', '2'));
    assert.equal((await response.settled).outcome.status, status);
    assert.deepEqual(
      lab.turns.map(({ outputTokensMax }) => outputTokensMax),
      [5, 4, 3],
    );
  }
});

test('a turn that begins with the bound used up says nothing and ends the Response as incomplete', async () => {
  const lab = new Lab([turn(call('a')), turn(say('done'))]);
  const response = await lab.create({ max_output_tokens: 1 });
  assert.equal(response.suspended, true, 'exactly at the bound the call is complete');
  await lab.append(response, output('call_1', '1'));
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_output_tokens' });
  assert.equal(response.snapshot().output.length, 1);
});

test('a call that is cut by max_output_tokens is incomplete and nobody is asked to answer it', async () => {
  const lab = new Lab([turn(call('ls'), call('rm', '{"path":"/usr/share"}'))]);
  const response = await lab.create({ max_output_tokens: 2 });
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_output_tokens' });
  assert.equal(eventsOfType(response, 'response.done').length, 0);
  assert.deepEqual(
    response.snapshot().output.map((item) => item['status']),
    ['incomplete', 'incomplete'],
  );
  assert.deepEqual(response.kept.owed, []);
});

test('the call after max_tool_calls ends the Response as incomplete, counted over all turns', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(call('c'), call('d'), call('e'))]);
  const response = await lab.create({ max_tool_calls: 3 });
  await lab.append(response, output('call_1', '1'), output('call_2', '2'));
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_tool_calls' });
  assert.deepEqual(
    response.snapshot().output.map((item) => [item['name'], item['status']]),
    [
      ['a', 'completed'],
      ['b', 'completed'],
      ['c', 'incomplete'],
    ],
  );
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('as many calls as max_tool_calls says are made and answered, and none where it says 0', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create({ max_tool_calls: 2 });
  await lab.append(response, ...callIdsOf(response).map((id) => output(id, 'x')));
  assert.equal((await response.settled).outcome.status, 'completed');
  const none = await lab.create({ max_tool_calls: 0 });
  assert.deepEqual((await none.settled).outcome, { status: 'incomplete', reason: 'max_tool_calls' });
  assert.deepEqual(callIdsOf(none), []);
});

test('a create longer than the context is refused by name, before the model is opened (B64)', async () => {
  const lab = new Lab([turn(say('done'))], { contextTokensMax: 1000 });
  const create = (tokens: number) => lab.engine.create({ model: 'scripted', input: inputOf(tokens) });
  for (const tokens of [1001, 1500]) {
    const refused = await refusal(create(tokens));
    assert.deepEqual(
      [refused.code, refused.status, refused.param],
      ['context_length_exceeded', 400, 'input'],
    );
    assert.match(refused.message, new RegExp(`${tokens} tokens.*1000`));
  }
  assert.deepEqual([lab.model.stats.opened, lab.engine.liveCount], [0, 0]);
  const fits = await create(999);
  await lab.settle();
  assert.equal((await fits.settled).outcome.status, 'completed');
});

test('instructions and tools count as context', async () => {
  const lab = new Lab([turn(say('done'))], { contextTokensMax: 1000 });
  const request = { model: 'scripted', input: inputOf(900), instructions: inputOf(200) };
  assert.equal((await refusal(lab.engine.create(request))).code, 'context_length_exceeded');
});

test('an append longer than the rest of the context is refused, and a shorter one goes on (P60)', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done'))], { contextTokensMax: 200 });
  const response = await lab.create();
  const refused = await refusal(response.append([message('look'), output('call_1', 'x'.repeat(180))]));
  assert.deepEqual([refused.code, refused.status, refused.param], ['context_length_exceeded', 400, 'input']);
  assert.equal(response.suspended, true);
  await lab.append(response, output('call_1', 'x'.repeat(100)));
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual(lab.prompt.slice(1), ['assistant to=ls: {}', `tool: ${'x'.repeat(100)}`]);
});

test('an append is held against what earlier appends of the suspension brought (P60)', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))], { contextTokensMax: 200 });
  const response = await lab.create();
  await lab.append(response, output('call_1', 'x'.repeat(80)));
  const refused = await refusal(response.append([output('call_2', 'y'.repeat(80))]));
  assert.equal(refused.code, 'context_length_exceeded');
  await lab.append(response, output('call_2', 'y'.repeat(20)));
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.ok((lab.turns[1]?.context.tokens ?? Infinity) <= 200);
});

test('an early answer that no longer fits when its turn is over fails the Response by name (P60)', async () => {
  const lab = new Lab([turn(call('a', `"${'z'.repeat(60)}"`)), turn(say('done'))], {
    contextTokensMax: 150,
    decodeTokensPerSecond: 1000,
    tickMs: 0,
  });
  const response = await lab.create();
  await lab.append(response, output('call_1', 'x'.repeat(100)));
  await lab.clock.runToIdle();
  const { outcome } = await response.settled;
  assert.ok(outcome.status === 'failed');
  assert.equal(outcome.code, 'context_length_exceeded');
  assert.equal(lab.model.stats.turns, 1, 'the model was given more than it can read');
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('a model that fills its context is cut there, as by max_output_tokens', async () => {
  const lab = new Lab([turn(saying(100))], { contextTokensMax: 50 });
  const response = await lab.create(inputOf(30));
  assert.deepEqual(lab.turns[0]?.outputTokensMax, 20);
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_output_tokens' });
  assert.equal(response.snapshot().usage?.output_tokens, 20);
});

test('more Responses than the bound are refused with a time to come back, suspended ones are not evicted', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done'))], { engine: { limits: { liveResponsesMax: 2 } } });
  const first = await lab.create();
  const second = await lab.create();
  const refused = await refusal(lab.engine.create({ model: 'scripted', input: 'hi' }));
  assert.deepEqual(
    [refused.code, refused.status, refused.retryAfterSeconds],
    ['rate_limit_exceeded', 429, 1],
  );
  await lab.append(first, output(callIdsOf(first)[0], 'x'));
  await first.settled;
  const third = await lab.create();
  assert.deepEqual([second.suspended, third.suspended], [true, true]);
});
