/** Answers in a format that the client asked for. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { ScriptItem } from '../samplers/scripted.js';
import { call, callIdsOf, eventsOf, Lab, output, refusal, say, turn } from '../testing/lab.js';
import { checkGrammar } from '../testing/grammar.js';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};
const weather = { format: { type: 'json_schema', name: 'weather', schema, strict: true } };
const right = '{"city":"Bern","degrees":7}';

async function outcomeOf(text: object, ...items: ScriptItem[]) {
  const lab = new Lab([turn(...items)]);
  const response = await lab.create({ text });
  checkGrammar(eventsOf(response), { native: true });
  return { lab, outcome: (await response.settled).outcome };
}

for (const [what, text, said] of [
  ['the schema allows', weather, right],
  ['the schema allows, in whatever layout', weather, ` {"degrees": -1.5,\n"city": ""} `],
  ['is an object, where any will do', { format: { type: 'json_object' } }, '{"a":[1]}'],
  ['is no JSON, where none was asked for', { format: { type: 'text' } }, 'hello'],
] as const)
  test(`an answer that ${what} completes the Response`, async () => {
    assert.deepEqual((await outcomeOf(text, say(said))).outcome, { status: 'completed' });
  });

for (const [what, text, said, names] of [
  ['is no JSON', weather, 'It is 7 degrees.', /no JSON/],
  ['is cut off JSON', weather, '{"city":"Bern"', /no JSON/],
  ['lacks a field', weather, '{"city":"Bern"}', /degrees/],
  ['has a field of another type', weather, '{"city":"Bern","degrees":"7"}', /degrees: .*number/],
  ['has a field too many', weather, '{"city":"Bern","degrees":7,"x":1}', /"x"/],
  ['is an array, where an object was asked for', { format: { type: 'json_object' } }, '[]', /no JSON object/],
  ['is empty', weather, '', /no JSON/],
] as const)
  test(`an answer that ${what} fails the Response, and says where`, async () => {
    const { outcome, lab } = await outcomeOf(text, say(said));
    assert.ok(outcome.status === 'failed');
    assert.equal(outcome.code, 'server_error');
    assert.match(outcome.message, /text\.format/);
    assert.match(outcome.message, names);
    assert.equal(lab.engine.stageRuns['post.bill']?.runs, 1, 'the work is done, and billed');
  });

test('a refusal is an answer, and not in the format', async () => {
  const refuses: ScriptItem = { type: 'message', parts: [{ part: 'refusal', text: 'I will not.' }] };
  assert.deepEqual((await outcomeOf(weather, refuses)).outcome, { status: 'completed' });
});

test('the last message counts, its parts joined, and a commentary is none', async () => {
  const parts: ScriptItem = {
    type: 'message',
    phase: 'final_answer',
    parts: [
      { part: 'text', text: right.slice(0, 9) },
      { part: 'text', text: right.slice(9) },
    ],
  };
  const aside: ScriptItem = { type: 'message', text: 'done', phase: 'commentary' };
  assert.deepEqual((await outcomeOf(weather, say('first this'), parts, aside)).outcome, {
    status: 'completed',
  });
  assert.equal((await outcomeOf(weather, parts, say('and that'))).outcome.status, 'failed');
});

test('a turn that calls is not checked, the answer after it is, wherever the turns are cut', async () => {
  const script = [turn(say('I look'), call('f')), turn(say(right))];
  const whole = new Lab(script);
  const response = await whole.create({ text: weather });
  await whole.append(response, output(callIdsOf(response)[0], 'x'));
  assert.equal((await response.settled).outcome.status, 'completed');
  const chain = new Lab(script);
  const first = await chain.create({ text: weather }, { handOff: 'complete' });
  assert.equal((await first.settled).outcome.status, 'completed');
});

test("a client's own assistant message is not held against the format", async () => {
  const lab = new Lab(() => turn());
  const input = [{ type: 'message', role: 'assistant', content: 'prose' }];
  const response = await lab.create({ input, text: weather });
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('an answer that was cut is incomplete, whatever it says', async () => {
  const lab = new Lab([turn(say(right))]);
  const response = await lab.create({ text: weather, max_output_tokens: 2 });
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_output_tokens' });
});

for (const [what, format, param] of [
  ['is of a type nobody knows', { type: 'yaml' }, 'text.format.type'],
  ['has no name', { type: 'json_schema', schema }, 'text.format.name'],
  ['has no schema', { type: 'json_schema', name: 'w' }, 'text.format.schema'],
  [
    'has a schema of something else',
    { type: 'json_schema', name: 'w', schema: { type: 'array' } },
    'text.format.schema.type',
  ],
  [
    'is broken inside',
    { type: 'json_schema', name: 'w', schema: { properties: { a: { type: 'text' } } } },
    'text.format.schema.properties.a.type',
  ],
  [
    'is strict and leaves an object open',
    { type: 'json_schema', name: 'w', strict: true, schema: { type: 'object', properties: {} } },
    'text.format.schema.additionalProperties',
  ],
  [
    'says what cannot be checked',
    { type: 'json_schema', name: 'w', schema: { type: 'object', not: { required: ['a'] } } },
    'text.format.schema',
  ],
] as const)
  test(`a format that ${what} is refused before anything is sampled`, async () => {
    const lab = new Lab([turn(say('x'))]);
    const refused = await refusal(lab.create({ text: { format } }));
    assert.equal(refused.status, 400);
    assert.equal(refused.param, param);
    assert.equal(lab.turns.length, 0);
  });
