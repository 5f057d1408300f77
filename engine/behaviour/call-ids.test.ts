/** Which call an output may answer, and what its answer must look like. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { Engine } from '../engine.js';
import {
  call,
  callIdsOf,
  customCall,
  customOutput,
  eventsOfType,
  Lab,
  message,
  output,
  refusal,
  say,
  turn,
  unitTokenizer,
} from '../testing/lab.js';

const oneCall = [turn(call('ls')), turn(say('done'))];

for (const [named, item, code, param] of [
  ['nobody made (B1)', output('call_nope', 'x'), 'unknown_call_id', 'input[0].call_id'],
  ['is the id of the item (B3)', output('fc_1', 'x'), 'unknown_call_id', 'input[0].call_id'],
  ['belongs to another Response', output('call_2', 'x'), 'unknown_call_id', 'input[0].call_id'],
  ['is missing', output(undefined, 'x'), 'missing_required_parameter', 'input[0].call_id'],
  ['is null', { ...output('x', 'x'), call_id: null }, 'invalid_value', 'input[0].call_id'],
  ['is empty', output('', 'x'), 'invalid_value', 'input[0].call_id'],
  ['is a number', { ...output('x', 'x'), call_id: 1 }, 'invalid_value', 'input[0].call_id'],
] as const)
  test(`an output whose call id ${named} is refused and leaves the Response suspended`, async () => {
    const lab = new Lab(oneCall);
    const response = await lab.create();
    const other = await lab.create();
    assert.deepEqual([callIdsOf(response), callIdsOf(other)], [['call_1'], ['call_2']]);
    const { lastNumber } = response;
    const refused = await refusal(response.append([item]));
    assert.deepEqual([refused.code, refused.status, refused.param], [code, 400, param]);
    if (code === 'unknown_call_id') assert.match(refused.message, new RegExp(`"${item.call_id}"`));
    await lab.settle();
    assert.deepEqual([response.suspended, response.lastNumber, lab.model.stats.turns], [true, lastNumber, 2]);
    await lab.append(response, output('call_1', 'ok'));
    assert.equal((await response.settled).outcome.status, 'completed');
    assert.deepEqual(lab.prompt.slice(1), ['assistant to=ls: {}', 'tool: ok']);
  });

test('an append with one bad item applies nothing of the good ones', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const [a, b] = callIdsOf(response);
  const refused = await refusal(response.append([output(a, '1'), message('hey'), output('call_9', '?')]));
  assert.deepEqual([refused.code, refused.param], ['unknown_call_id', 'input[2].call_id']);
  await lab.append(response, output(b, '2'));
  assert.deepEqual(
    response.requiredInput.map((stub) => stub.call_id),
    [a],
  );
  await lab.append(response, output(a, 'one'));
  assert.deepEqual(lab.prompt.slice(-2), ['tool: one', 'tool: 2']);
});

for (const [what, item] of [
  ['a call', { type: 'function_call', call_id: 'call_1', name: 'ls', arguments: '{}' }],
  ['what an assistant says', { type: 'message', role: 'assistant', content: 'hello' }],
  ['reasoning', { type: 'reasoning', summary: [] }],
  ['a reference', { type: 'item_reference', id: 'msg_1' }],
] as const)
  test(`an append brings outputs and messages, and not ${what}`, async () => {
    const lab = new Lab(oneCall);
    const response = await lab.create();
    const refused = await refusal(response.append([output('call_1', 'x'), item]));
    assert.deepEqual([refused.code, refused.status, refused.param], ['invalid_value', 400, 'input[1]']);
    assert.equal(response.suspended, true);
  });

test('input that is no list of items is refused', async () => {
  const lab = new Lab(oneCall);
  const response = await lab.create();
  for (const input of [undefined, null, 7, { type: 'message' }, [null], ['text'], [[]], [{}]]) {
    const refused = await refusal(response.append(input));
    assert.deepEqual(
      [refused.status, refused.param?.startsWith('input')],
      [400, true],
      JSON.stringify(input),
    );
  }
  assert.equal(response.suspended, true);
});

test('a custom call is answered by its own kind of output, and only by that (B4)', async () => {
  const lab = new Lab([turn(customCall('apply_patch', '*** Begin'), call('ls')), turn(say('done'))]);
  const response = await lab.create({ tools: [{ type: 'custom', name: 'apply_patch' }] });
  const [patch, ls] = callIdsOf(response);
  assert.deepEqual(response.requiredInput, [
    { type: 'custom_tool_call_output', call_id: patch, name: 'apply_patch' },
    { type: 'function_call_output', call_id: ls, name: 'ls' },
  ]);
  for (const wrong of [output(patch, 'x'), customOutput(ls, 'x')]) {
    const refused = await refusal(response.append([wrong]));
    assert.deepEqual(
      [refused.code, refused.status, refused.param],
      ['wrong_output_type', 400, 'input[0].type'],
    );
    assert.equal(response.requiredInput.length, 2);
  }
  await lab.append(response, output(ls, 'bin'), customOutput(patch, 'patched'));
  assert.equal(lab.model.stats.turns, 2);
  assert.deepEqual(lab.prompt.slice(2), [
    'assistant to=apply_patch: *** Begin',
    'assistant to=ls: {}',
    'tool: patched',
    'tool: bin',
  ]);
});

test('a call of a kind the engine does not know is owed too, and answered by that kind of output', async () => {
  const shell = {
    type: 'opaque',
    item: { type: 'shell_call', action: { cmd: 'ls' }, opaque: true },
  } as const;
  const lab = new Lab([turn(shell), turn(say('done'))]);
  const response = await lab.create();
  const [id] = callIdsOf(response);
  assert.deepEqual(response.requiredInput, [{ type: 'shell_call_output', call_id: id }]);
  assert.equal((await refusal(response.append([output(id, 'x')]))).code, 'wrong_output_type');
  await lab.append(response, { type: 'shell_call_output', call_id: id, stdout: 'bin' });
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.match(lab.prompt.at(-1) ?? '', /^shell_call_output: .*"stdout":"bin"/);
});

test('an item id that stands twice in a create is refused before any other work (B8)', async () => {
  const lab = new Lab([turn(), turn(), turn(say('done'))]);
  const pair = (callId: string, id: string) => [
    { type: 'function_call', id, call_id: callId, name: 'ls', arguments: '{}' },
    output(callId, 'x'),
  ];
  const refused = await refusal(
    lab.engine.create({
      model: 'scripted',
      input: [...pair('c1', 'fc_1'), ...pair('c2', 'fc_1').slice(0, 1)],
    }),
  );
  assert.deepEqual([refused.code, refused.status, refused.param], ['duplicate_item_id', 400, 'input[2].id']);
  assert.match(refused.message, /"fc_1"/);
  assert.deepEqual(Object.keys(lab.engine.stageRuns), ['pre.validate']);
  const response = await lab.create({ input: [...pair('c1', 'fc_1'), ...pair('c2', 'fc_2')] });
  assert.equal((await response.settled).outcome.status, 'completed');
});

test('minted call ids are short, plain and never the same twice (B90)', async () => {
  const lab = new Lab([turn(...Array.from({ length: 1000 }, () => call('ls')))]);
  await using engine = new Engine({ clock: lab.clock, tokenizer: unitTokenizer, sampler: lab.model });
  const ids = new Set<string>();
  for (let rollout = 0; rollout < 10; rollout++) {
    const response = await engine.create({ model: 'm', input: 'hi' });
    await lab.settle();
    for (const { call_id } of response.requiredInput) {
      assert.match(call_id, /^[A-Za-z0-9_-]{1,64}$/);
      ids.add(call_id);
    }
  }
  assert.equal(ids.size, 10_000);
});

test('a long call id in a replayed history is taken as it is, on both sides (B90)', async () => {
  const lab = new Lab([turn(), turn(say('done'))]);
  const id = 'c'.repeat(116);
  const history = [{ type: 'function_call', call_id: id, name: 'ls', arguments: '{}' }, output(id, 'x')];
  const response = await lab.create({ input: history });
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.notEqual(response.kept.transcript.call(id), null);
  assert.notEqual(response.kept.transcript.output(id), null);
});

test('a call of a tool that was never declared is surfaced and owed like any other (B91)', async () => {
  const lab = new Lab(() => turn(call('nope')));
  const response = await lab.create({ max_tool_calls: 3 });
  for (let number = 1; number <= 3; number++) {
    assert.deepEqual(
      response.requiredInput.map(({ call_id, name }) => [call_id, name]),
      [[`call_${number}`, 'nope']],
    );
    await lab.append(response, output(`call_${number}`, 'there is no such tool'));
  }
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'max_tool_calls' });
  assert.equal(eventsOfType(response, 'response.incomplete').length, 1);
});
