/** What a create may say: its tools, and the fields around them. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { LiveResponse } from '../live-response.js';
import type { CreateRequestInput } from '../protocol/requests.js';
import { call, callIdsOf, customCall, eventsOf, Lab, output, refusal, say, turn } from '../testing/lab.js';

const oneTurn = [turn(say('done'))];
const namespace = { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] };

test('tools of all kinds are accepted together, and the model reads those it can call (B84)', async () => {
  const lab = new Lab(oneTurn);
  const response = await lab.create({
    tools: [
      { type: 'function', name: 'f', description: 'does f' },
      { type: 'custom', name: 'apply_patch' },
      { type: 'web_search' },
      { type: 'tool_search' },
      namespace,
    ],
  });
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual(lab.prompt, [
    'system: f\ndoes f\n{"type":"object","properties":{}}',
    'system: apply_patch',
    'system: web_search',
    'system: tool_search',
    'system: n.g\n{"type":"object","properties":{}}',
    'user: hi',
  ]);
  assert.deepEqual(
    response.snapshot().tools.map(({ type }) => type),
    ['function', 'custom', 'web_search', 'tool_search', 'namespace'],
  );
});

test('a call into a namespace keeps name and namespace apart, and so from a twin at top level (B85)', async () => {
  const nested = { type: 'function_call', name: 'g', namespace: 'n', arguments: '{}' } as const;
  const lab = new Lab([turn(nested, call('g')), turn(say('done'))]);
  const response = await lab.create({ tools: [{ type: 'function', name: 'g' }, namespace] });
  assert.deepEqual(
    response.snapshot().output.map((item) => [item['name'], item['namespace']]),
    [
      ['g', 'n'],
      ['g', undefined],
    ],
  );
  const [inside, top] = callIdsOf(response);
  await lab.append(response, output(top, 'top'), output(inside, 'inside'));
  assert.deepEqual(lab.prompt.slice(-4), [
    'assistant to=n.g: {}',
    'assistant to=g: {}',
    'tool: inside',
    'tool: top',
  ]);
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('a function without parameters is the same one however that is said (B86)', async () => {
  const lab = new Lab(() => turn(say('done')));
  const prompts = [];
  for (const parameters of [undefined, null, {}, { type: 'object', properties: {} }]) {
    const response = await lab.create({
      tools: [{ type: 'function', name: 'f', ...(parameters === undefined ? {} : { parameters }) }],
    });
    assert.equal((await response.settled).outcome.status, 'completed');
    prompts.push(lab.prompt);
  }
  assert.deepEqual(prompts, Array(4).fill(prompts[0]));
});

for (const [what, parameters, path] of [
  ['an open object', { type: 'object', properties: {} }, 'parameters.additionalProperties'],
  [
    'an open object inside',
    {
      type: 'object',
      additionalProperties: false,
      required: ['at'],
      properties: { at: { type: 'object', properties: {} } },
    },
    'parameters.properties.at.additionalProperties',
  ],
  [
    'a property that may be left out',
    { type: 'object', additionalProperties: false, properties: { path: { type: 'string' } } },
    'parameters.required',
  ],
] as const)
  test(`a strict tool whose schema has ${what} is refused, naming the place (B62)`, async () => {
    const lab = new Lab(oneTurn);
    const tools = [
      { type: 'function', name: 'ok' },
      { type: 'function', name: 'f', strict: true, parameters },
    ];
    const refused = await refusal(lab.engine.create({ model: 'scripted', input: 'hi', tools }));
    assert.deepEqual([refused.code, refused.status], ['invalid_function_parameters', 400]);
    assert.equal(refused.param, `tools[1].${path}`);
    assert.deepEqual([lab.model.stats.opened, lab.engine.liveCount], [0, 0]);
  });

test('harmless fields are accepted, metadata is echoed, unknown fields are ignored (B70)', async () => {
  const lab = new Lab(oneTurn);
  const request = {
    model: 'scripted',
    input: [{ role: 'user', content: 'hi', x_item: 1 }],
    metadata: { k: 'v' },
    client_metadata: { session: 'x' },
    prompt_cache_key: 'key',
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
    stream: true,
    x_unknown: 1,
  };
  const response = await lab.engine.create(request);
  await lab.settle();
  assert.equal((await response.settled).outcome.status, 'completed');
  const [created] = eventsOf(response);
  assert.ok(created?.type === 'response.created');
  assert.deepEqual(created.response.metadata, { k: 'v' });
  assert.deepEqual([created.response.prompt_cache_key, created.response.parallel_tool_calls], ['key', false]);
  assert.equal('x_unknown' in created.response, false);
  assert.equal(lab.turns[0]?.conversation, 'key');
});

for (const [what, request, code, param] of [
  ['no model', { input: 'hi' }, 'missing_required_parameter', 'model'],
  ['a model that nobody serves', { model: 'unserved' }, 'model_not_found', 'model'],
  ['background mode', { model: 'm', background: true }, 'unsupported_parameter', 'background'],
  ['a conversation', { model: 'm', conversation: 'c' }, 'unsupported_parameter', 'conversation'],
  [
    'a conversation beside a previous response',
    { model: 'm', conversation: 'c', previous_response_id: 'r' },
    'invalid_value',
    'conversation',
  ],
  ['a temperature of 3', { model: 'm', temperature: 3 }, 'invalid_value', 'temperature'],
  [
    'an item without type and role',
    { model: 'm', input: [{ content: 'hi' }] },
    'missing_required_parameter',
    'input[0].type',
  ],
  ['no tool type', { model: 'm', tools: [{ name: 'f' }] }, 'missing_required_parameter', 'tools[0].type'],
] as const)
  test(`a create with ${what} is refused, naming the field, and runs no post-inference`, async () => {
    const { engine } = new Lab(oneTurn);
    const refused = await refusal(engine.create(request));
    assert.deepEqual([refused.code, refused.param], [code, param]);
    assert.equal(
      Object.keys(engine.stageRuns).some((stage) => stage.startsWith('post.')),
      false,
    );
    assert.equal(engine.liveCount, 0);
  });

test('custom input is said as it is', async () => {
  const patch = '*** Begin Patch\n"quoted" \\ {not json';
  const lab = new Lab([turn(customCall('apply_patch', patch)), turn(say('done'))]);
  const response = await lab.create();
  assert.equal(response.snapshot().output[0]?.['input'], patch);
});

test('tools that a create sends again are those that were looked at before; others are looked at like any', async () => {
  const lab = new Lab([turn(say('one')), turn(say('two')), turn(say('three'))]);
  const tools = () => [
    { type: 'function' as const, name: 'f', parameters: { type: 'object', properties: {} } },
  ];
  const goOn = (previous: LiveResponse, changed: CreateRequestInput['tools']) =>
    lab.create({ tools: changed }, { kept: previous.kept, handOff: 'complete' });
  const first = await lab.create({ tools: tools() }, { handOff: 'complete' });
  await first.settled;
  const second = await goOn(first, tools());
  await second.settled;
  assert.equal(second.request.tools, first.request.tools);
  assert.equal(second.kept.preamble, first.kept.preamble);

  const wrong = [{ ...tools()[0], name: 'f', type: 'function' as const, parameters: { type: 'array' } }];
  const refused = await refusal(goOn(second, wrong));
  assert.deepEqual(
    [refused.code, refused.param],
    ['invalid_function_parameters', 'tools[0].parameters.type'],
  );
  const third = await goOn(second, [...tools(), { type: 'web_search' }]);
  await third.settled;
  assert.equal(third.request.tools?.length, 2);
  assert.notEqual(third.kept.preamble, first.kept.preamble);
});
