import { test } from 'node:test';
import assert from 'node:assert/strict';

import { renderPreamble } from '../render.js';
import { createdObject } from '../response-object.js';
import { unitTokenizer } from '../testing/lab.js';
import { ProtocolError } from './errors.js';
import { parse } from './parse.js';
import { appendInputSchema, createRequestSchema, wantsEncrypted, type CreateRequest } from './requests.js';
import { responseObjectSchema } from './server-events.js';

const request = (fields: Record<string, unknown> = {}): CreateRequest =>
  parse(createRequestSchema, { model: 'm', ...fields });

function refusalOf(raw: unknown): ProtocolError {
  try {
    parse(createRequestSchema, raw);
  } catch (fault) {
    assert.ok(fault instanceof ProtocolError);
    return fault;
  }
  return assert.fail(`accepted ${JSON.stringify(raw)}`);
}

test('a request needs a model and nothing else (P18, B121)', () => {
  assert.deepEqual(request(), { model: 'm', input: [] });
  for (const raw of [{}, { input: 'hi' }]) {
    const refused = refusalOf(raw);
    assert.deepEqual(
      [refused.code, refused.status, refused.param],
      ['missing_required_parameter', 400, 'model'],
    );
  }
  for (const model of [5, null, ''])
    assert.deepEqual([refusalOf({ model }).code, refusalOf({ model }).param], ['invalid_value', 'model']);
});

for (const raw of [null, 'hi', 5, [], undefined])
  test(`${JSON.stringify(raw) ?? 'nothing'} is no request (B68)`, () => {
    assert.equal(refusalOf(raw).status, 400);
  });

test('an input that is a text is one user message (P19)', () => {
  assert.deepEqual(request({ input: 'hi' }).input, [{ type: 'message', role: 'user', content: 'hi' }]);
  assert.deepEqual(parse(appendInputSchema, 'hi', ['input']), request({ input: 'hi' }).input);
});

test('an input that is neither text nor items is refused, and an item at fault is named', () => {
  for (const input of [5, null, {}]) assert.equal(refusalOf({ model: 'm', input }).param, 'input');
  const refused = refusalOf({
    model: 'm',
    input: [{ role: 'user', content: 'x' }, { type: 'function_call' }],
  });
  assert.deepEqual([refused.code, refused.param], ['missing_required_parameter', 'input[1].call_id']);
});

test('unknown fields are ignored, and those a client sends without need are taken (B70, P11, P17)', () => {
  const taken = request({
    metadata: { k: 'v' },
    client_metadata: { traceparent: '00-x' },
    prompt_cache_key: 'k',
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
    stream: true,
    stream_options: {},
    stream_id: 's',
    x_unknown: 1,
  });
  assert.deepEqual(taken, {
    model: 'm',
    input: [],
    metadata: { k: 'v' },
    client_metadata: { traceparent: '00-x' },
    prompt_cache_key: 'k',
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
    stream: true,
    stream_options: {},
  });
});

test('null stands for nothing said, in every field that may be left out', () => {
  const fields = [
    'instructions',
    'tools',
    'tool_choice',
    'max_output_tokens',
    'max_tool_calls',
    'store',
    'metadata',
  ];
  const nulls = Object.fromEntries(
    [...fields, 'reasoning', 'text', 'temperature', 'truncation'].map((name) => [name, null]),
  );
  const said = createdObject('r', request(nulls), 1);
  assert.deepEqual(said, createdObject('r', request(), 1));
});

for (const [field, value, param] of [
  ['instructions', 5, 'instructions'],
  ['max_output_tokens', 0, 'max_output_tokens'],
  ['max_output_tokens', 1.5, 'max_output_tokens'],
  ['max_tool_calls', -1, 'max_tool_calls'],
  ['temperature', 3, 'temperature'],
  ['top_p', 'high', 'top_p'],
  ['top_logprobs', 21, 'top_logprobs'],
  ['truncation', 'never', 'truncation'],
  ['metadata', { k: 5 }, 'metadata.k'],
  ['metadata', { k: 'x'.repeat(513) }, 'metadata.k'],
  ['store', 'yes', 'store'],
  ['previous_response_id', '', 'previous_response_id'],
  ['tools', {}, 'tools'],
  ['tool_choice', 'sometimes', 'tool_choice'],
  ['tool_choice', { type: 'function' }, 'tool_choice'],
  ['tool_choice', { type: 'allowed_tools', mode: 'auto', tools: [] }, 'tool_choice.tools'],
  ['reasoning', { effort: 5 }, 'reasoning.effort'],
  ['text', { format: { schema: {} } }, 'text.format.type'],
] as const)
  test(`a request with ${field}: ${JSON.stringify(value).slice(0, 60)} is refused in words that name ${param}`, () => {
    const refused = refusalOf({ model: 'm', [field]: value });
    assert.equal(refused.status, 400);
    assert.equal(refused.param, param);
    assert.ok(refused.message.includes(param), refused.message);
  });

test('a name that every object has is a field like any other', () => {
  const raw: unknown = JSON.parse(
    '{"model":"m","metadata":{"__proto__":"x","constructor":"y"},"__proto__":{"store":false}}',
  );
  const taken = parse(createRequestSchema, raw);
  assert.equal(taken.store, undefined);
  assert.equal(Reflect.get({}, 'store'), undefined);
  assert.equal(taken.metadata?.['constructor'], 'y');
});

test('tools of every kind are taken together (B84)', () => {
  const tools = [
    { type: 'function', name: 'f', description: null, parameters: null, strict: false },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'web_search', search_context_size: 'low' },
    { type: 'tool_search' },
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g' }] },
  ];
  const taken = request({ tools });
  const { tools: echoed } = createdObject('r', taken, 1);
  assert.deepEqual(echoed, tools);
  const text = String.fromCharCode(
    ...(renderPreamble(null, taken.tools ?? [], unitTokenizer, new AbortController().signal) as Uint32Array),
  );
  for (const name of ['f\n', 'apply_patch\n', 'n.g\n']) assert.ok(text.includes(name), name);
});

test('a namespace keeps its own tools apart from those of the same name outside it (B85)', () => {
  const g = { type: 'function', name: 'g' };
  const { tools } = request({ tools: [g, { type: 'namespace', name: 'n', tools: [g] }] });
  assert.deepEqual(tools, [g, { type: 'namespace', name: 'n', tools: [g] }]);
  const wrong = refusalOf({
    model: 'm',
    tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }],
  });
  assert.deepEqual([wrong.code, wrong.param], ['missing_required_parameter', 'tools[0].tools[0].name']);
});

test('a function without parameters may say so in four ways, and all render the same (B86)', () => {
  const ways = [
    {},
    { parameters: null },
    { parameters: {} },
    { parameters: { type: 'object', properties: {} } },
  ];
  const rendered = ways.map((way) => {
    const { tools } = request({ tools: [{ type: 'function', name: 'f', ...way }] });
    return renderPreamble(null, tools ?? [], unitTokenizer, new AbortController().signal);
  });
  for (const tokens of rendered) assert.deepEqual(tokens, rendered[0]);
});

const strictTool = (parameters: unknown) => ({
  model: 'm',
  tools: [
    { type: 'function', name: 'ok' },
    { type: 'function', name: 'f', strict: true, parameters },
  ],
});

for (const [what, parameters, param] of [
  [
    'leaves an object open',
    { type: 'object', properties: {}, required: [] },
    'tools[1].parameters.additionalProperties',
  ],
  [
    'leaves a property optional',
    { type: 'object', properties: { a: {}, b: {} }, required: ['a'], additionalProperties: false },
    'tools[1].parameters.required',
  ],
  [
    'leaves an inner object open',
    {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'object', properties: {} } } },
      required: ['list'],
      additionalProperties: false,
    },
    'tools[1].parameters.properties.list.items.additionalProperties',
  ],
  [
    'leaves one of several forms open',
    {
      type: 'object',
      properties: { a: { anyOf: [{ type: 'string' }, { type: 'object' }] } },
      required: ['a'],
      additionalProperties: false,
    },
    'tools[1].parameters.properties.a.anyOf[1].additionalProperties',
  ],
  [
    'leaves a definition open',
    {
      type: 'object',
      properties: {},
      required: [],
      additionalProperties: false,
      $defs: { d: { type: 'object' } },
    },
    'tools[1].parameters.$defs.d.additionalProperties',
  ],
] as const)
  test(`a strict tool that ${what} is refused with the path into its schema (B62)`, () => {
    const refused = refusalOf(strictTool(parameters));
    assert.deepEqual(
      [refused.code, refused.status, refused.param],
      ['invalid_function_parameters', 400, param],
    );
    assert.ok(refused.message.includes(param), refused.message);
    const loose = strictTool(parameters).tools.map((tool) => ({ ...tool, strict: false }));
    assert.equal(request({ tools: loose }).tools?.length, 2);
  });

test('a strict tool whose objects are all closed is taken, and so is one that takes nothing', () => {
  const closed = {
    type: 'object',
    properties: { a: { type: ['string', 'null'] } },
    required: ['a'],
    additionalProperties: false,
  };
  for (const parameters of [closed, {}, null, undefined])
    assert.equal(request({ tools: strictTool(parameters).tools }).tools?.length, 2);
});

for (const [what, tool, code, param] of [
  ['without a name', { type: 'function' }, 'missing_required_parameter', 'tools[0].name'],
  [
    'with a name that no model can write',
    { type: 'function', name: 'a b' },
    'invalid_value',
    'tools[0].name',
  ],
  [
    'with a name of 129 characters',
    { type: 'function', name: 'x'.repeat(129) },
    'invalid_value',
    'tools[0].name',
  ],
  [
    'whose parameters are no object',
    { type: 'function', name: 'f', parameters: { type: 'string' } },
    'invalid_function_parameters',
    'tools[0].parameters.type',
  ],
  [
    'whose schema has a type that is none',
    { type: 'function', name: 'f', parameters: { type: 'object', properties: { a: { type: 'text' } } } },
    'invalid_function_parameters',
    'tools[0].parameters.properties.a.type',
  ],
  ['without a type', { name: 'f' }, 'missing_required_parameter', 'tools[0].type'],
  ['that is a text', 'f', 'invalid_value', 'tools[0]'],
] as const)
  test(`a tool ${what} is refused by its field`, () => {
    const refused = refusalOf({ model: 'm', tools: [tool] });
    assert.deepEqual([refused.code, refused.param], [code, param]);
  });

test('each form of tool_choice is taken, and allowed_tools without a mode is auto', () => {
  const allowed = { type: 'allowed_tools', tools: [{ type: 'function', name: 'f' }] };
  for (const choice of [
    'auto',
    'none',
    'required',
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'p' },
  ])
    assert.deepEqual(request({ tool_choice: choice }).tool_choice, choice);
  assert.deepEqual(request({ tool_choice: allowed }).tool_choice, { ...allowed, mode: 'auto' });
});

test('the Response of a bare request has all the fields that strict clients require (P59, B48)', () => {
  const created = createdObject('resp_1', request({ tools: [{ type: 'function', name: 'f' }] }), 17);
  assert.ok(responseObjectSchema.safeParse(created).success);
  assert.equal(Object.keys(created).length, 31);
  assert.deepEqual(created.tools, [
    { description: null, parameters: null, strict: null, type: 'function', name: 'f' },
  ]);
  assert.deepEqual(
    [created.status, created.output, created.usage, created.created_at, created.completed_at],
    ['in_progress', [], null, 17, null],
  );
});

test('a Response says back what its request said (P45, B70)', () => {
  const said = {
    instructions: 'be brief',
    max_output_tokens: 10,
    max_tool_calls: 2,
    metadata: { k: 'v' },
    parallel_tool_calls: false,
    previous_response_id: 'resp_0',
    prompt_cache_key: 'k',
    safety_identifier: 's',
    service_tier: 'flex',
    store: false,
    temperature: 0,
    tool_choice: 'none',
    top_logprobs: 3,
    top_p: 0.5,
    truncation: 'auto',
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
  };
  const created = createdObject('r', request(said), 1);
  for (const [field, value] of Object.entries(said))
    assert.deepEqual(Reflect.get(created, field), value, field);
  assert.deepEqual(createdObject('r', request({ reasoning: { effort: 'low' } }), 1).reasoning, {
    effort: 'low',
    summary: null,
  });
});

test('what else a client may ask for is taken as it is, and refused where it is something else', () => {
  const asked = {
    include: ['reasoning.encrypted_content', 'some.future'],
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    stream: true,
    client_metadata: { traceparent: '00-x' },
    prompt_cache_retention: '24h',
    max_tool_calls: 3,
    text: { format: { type: 'json_object' }, verbosity: 'low' },
  };
  assert.deepEqual(request(asked), { model: 'm', input: [], ...asked });
  for (const [field, value, param] of [
    ['include', 'reasoning', 'include'],
    ['include', [1], 'include[0]'],
    ['context_management', {}, 'context_management'],
    ['context_management', [{ type: 'forgetting' }], 'context_management[0].type'],
    [
      'context_management',
      [{ type: 'compaction', compact_threshold: 0 }],
      'context_management[0].compact_threshold',
    ],
    ['stream', 'yes', 'stream'],
    ['client_metadata', 'x', 'client_metadata'],
  ] as const)
    assert.equal(refusalOf({ model: 'm', [field]: value }).param, param);
});

test('encrypted reasoning is wanted where include says so', () => {
  assert.equal(wantsEncrypted(request({ include: ['reasoning.encrypted_content'] })), true);
  assert.equal(wantsEncrypted(request({ include: ['file_search_call.results'] })), false);
  assert.equal(wantsEncrypted(request({})), false);
});

test('a schema that is nested too deep is refused, of a tool and of a format', () => {
  let deep: object = { type: 'string' };
  for (let depth = 0; depth < 5000; depth++) deep = { type: 'object', properties: { a: deep } };
  const format = { type: 'json_schema', name: 'x', schema: deep };
  assert.equal(refusalOf({ model: 'm', text: { format } }).param, 'text.format.schema');
  const tools = [{ type: 'function', name: 'f', parameters: deep }];
  assert.equal(refusalOf({ model: 'm', tools }).param, 'tools[0].parameters');
});
