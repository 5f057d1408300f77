/** What `tool_choice` and `parallel_tool_calls` let a turn do. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { VirtualClock } from '../clock.js';
import { Engine } from '../engine.js';
import type { CreateRequestInput } from '../protocol/requests.js';
import type { SampledStart, SamplerEvent } from '../samplers/sampler.js';
import {
  call,
  callIdsOf,
  eventsOfType,
  Lab,
  output,
  refusal,
  say,
  turn,
  unitTokenizer,
} from '../testing/lab.js';

const tools: CreateRequestInput['tools'] = [
  { type: 'function', name: 'f' },
  { type: 'function', name: 'g' },
  { type: 'custom', name: 'patch' },
];

/** Runs a rollout whose calls are all answered; gives the names of the calls of each turn. */
async function callsOf(lab: Lab, toolChoice: CreateRequestInput['tool_choice']): Promise<unknown[][]> {
  const response = await lab.create({ tools, tool_choice: toolChoice });
  while (response.suspended)
    await lab.append(
      response,
      ...response.requiredInput.map(({ type, call_id }) => ({ type, call_id, output: 'x' })),
    );
  assert.equal((await response.settled).outcome.status, 'completed');
  const turns = eventsOfType(response, 'response.done').map(({ output: items }) => items);
  return [...turns, response.snapshot().output.slice(turns.flat().length)].map((items) =>
    items.flatMap((item) => ('name' in item ? [item.name] : [])),
  );
}

const eager = [turn(call('f'), call('g')), turn(call('g')), turn(say('done'))];
const reluctant = [turn(say('no need')), turn(say('done'))];

for (const [name, choice, script, calls] of [
  ['auto', 'auto', eager, [['f', 'g'], ['g'], []]],
  ['none', 'none', eager, [[]]],
  ['required', 'required', reluctant, [['f'], []]],
  ['a named function', { type: 'function', name: 'g' }, eager, [['g'], ['g'], []]],
  ['a named function that the model would not call', { type: 'function', name: 'g' }, reluctant, [['g'], []]],
  ['a named custom tool', { type: 'custom', name: 'patch' }, reluctant, [['patch'], []]],
  [
    'allowed tools',
    { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    [turn(call('f'), call('g')), turn(call('f'))],
    [['g'], []],
  ],
  [
    'allowed tools, one of them required',
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
    reluctant,
    [['g'], []],
  ],
] as const)
  test(`tool_choice ${name} binds the turns it says, and a demand only the first (P57)`, async () => {
    const lab = new Lab(script);
    assert.deepEqual(await callsOf(lab, choice as CreateRequestInput['tool_choice']), calls);
    const demands = (at: number) => {
      const made = lab.turns[at]?.toolChoice;
      return typeof made === 'string'
        ? made === 'required'
        : made?.type !== 'allowed_tools' || made.mode === 'required';
    };
    for (let at = 1; at < lab.turns.length; at++) assert.equal(demands(at), false);
  });

test('after the first turn allowed tools stay allowed, and nothing is demanded (P57)', async () => {
  const lab = new Lab([turn(call('g')), turn(say('done'))]);
  const allowed = [{ type: 'function', name: 'g' }];
  await callsOf(lab, { type: 'allowed_tools', mode: 'required', tools: allowed });
  assert.deepEqual(
    lab.turns.map(({ toolChoice }) => toolChoice),
    [
      { type: 'allowed_tools', mode: 'required', tools: allowed },
      { type: 'allowed_tools', mode: 'auto', tools: allowed },
    ],
  );
});

/** A model that says what it likes, whatever it is asked. */
async function disobedient(request: Partial<CreateRequestInput>, ...starts: SampledStart[]) {
  const clock = new VirtualClock();
  const engine = new Engine({
    clock,
    tokenizer: unitTokenizer,
    sampler: {
      contextTokensMax: Infinity,
      open: () => ({
        async *sample(): AsyncGenerator<SamplerEvent, void> {
          yield { type: 'prefill', held: 0, read: 0 };
          for (const [key, start] of starts.entries()) yield { type: 'item', key, start };
          for (const key of starts.keys()) yield { type: 'delta', key, delta: '{}', tokens: 1 };
          for (const key of starts.keys()) yield { type: 'item_end', key };
        },
        suspend: () => undefined,
        release: () => undefined,
      }),
    },
  });
  const response = await engine.create({ model: 'm', input: 'hi', tools, ...request });
  await clock.advance(0);
  return response;
}

for (const [what, choice, start] of [
  ['calls although it may not', 'none', { type: 'function_call', name: 'f' }],
  [
    'calls another tool than the named one',
    { type: 'function', name: 'g' },
    { type: 'function_call', name: 'f' },
  ],
  [
    'calls a tool that is not allowed',
    { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    { type: 'custom_tool_call', name: 'patch' },
  ],
  ['makes no call although it must', 'required', { type: 'message' }],
] as const)
  test(`a model that ${what} fails the Response, and the client never sees the call (P57)`, async () => {
    const response = await disobedient({ tool_choice: choice as CreateRequestInput['tool_choice'] }, start);
    const { outcome } = await response.settled;
    assert.ok(outcome.status === 'failed');
    assert.equal(outcome.code, 'server_error');
    assert.match(outcome.message, /tool_choice/);
    assert.deepEqual(callIdsOf(response), []);
  });

test('without parallel calls one call a turn is made', async () => {
  const lab = new Lab([turn(say('both'), call('f'), call('g')), turn(call('g')), turn(say('done'))]);
  const response = await lab.create({ tools, parallel_tool_calls: false });
  assert.equal(lab.turns[0]?.parallelToolCalls, false);
  assert.deepEqual(callIdsOf(response), ['call_1']);
  await lab.append(response, output('call_1', 'x'));
  await lab.append(response, output('call_2', 'x'));
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('without parallel calls a model’s further ones are dropped whole', async () => {
  const response = await disobedient(
    { parallel_tool_calls: false },
    { type: 'function_call', name: 'f' },
    { type: 'function_call', name: 'g' },
    { type: 'message' },
  );
  assert.deepEqual(
    response.requiredInput.map(({ name }) => name),
    ['f'],
  );
  const types = response.snapshot().output.map(({ type }) => type);
  assert.deepEqual(types, ['function_call', 'message']);
  assert.deepEqual(
    eventsOfType(response, 'response.output_item.added').map((event) => event.output_index),
    [0, 1],
  );
  response.cancel();
});

test('a demand that no declared tool can meet is refused before anything is sampled, and names the field', async () => {
  const declared = { tools: [{ type: 'function', name: 'ls' }] };
  for (const request of [
    { tool_choice: 'required' },
    { tool_choice: { type: 'function', name: 'rm' }, ...declared },
    { tool_choice: { type: 'custom', name: 'ls' }, ...declared },
  ]) {
    const lab = new Lab([turn(say('x'))]);
    const { code, param } = await refusal(lab.create(request));
    assert.deepEqual([code, param, lab.turns.length], ['invalid_value', 'tool_choice', 0]);
  }
});
