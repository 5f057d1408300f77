/** One Response per turn: a hand-off completes it, and the next one continues from what it kept. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { CreateRequestInput } from '../protocol/requests.js';
import type { LiveResponse } from '../live-response.js';
import { call, callIdsOf, Lab, message, output, refusal, say, turn, typesOf } from '../testing/lab.js';

const threeCalls = [turn(call('a'), call('b'), call('c')), turn(say('done'))];

/** A create that continues from `previous`, or that starts anew where it is null. */
function continued(lab: Lab, previous: LiveResponse | null, request: Partial<CreateRequestInput>) {
  return lab.create(request, { kept: previous?.kept ?? null, handOff: 'complete' });
}

const completed = async (response: LiveResponse) => (await response.settled).outcome.status === 'completed';

test('a turn that owes calls completes its Response, and the outputs come with the next create (B12)', async () => {
  const lab = new Lab(threeCalls);
  const first = await continued(lab, null, { input: 'hi' });
  assert.ok(await completed(first));
  assert.equal(typesOf(first).at(-1), 'response.completed');
  assert.deepEqual(first.kept.owed, callIdsOf(first));
  assert.deepEqual(
    first.snapshot().output.map((item) => item['status']),
    ['completed', 'completed', 'completed'],
  );
  assert.equal((await refusal(first.append([output('call_1', '1')]))).code, 'response_already_completed');

  const [a, b, c] = callIdsOf(first);
  const second = await continued(lab, first, { input: [output(c, '3'), output(a, '1'), output(b, '2')] });
  assert.ok(await completed(second));
  assert.deepEqual(lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
  assert.deepEqual(second.kept.owed, []);
});

test('a create that leaves one of the owed calls unanswered is refused, naming it (B12)', async () => {
  const lab = new Lab(threeCalls);
  const first = await continued(lab, null, { input: 'hi' });
  const [a, b, c] = callIdsOf(first);
  const refused = await refusal(continued(lab, first, { input: [output(a, '1'), output(b, '2')] }));
  assert.deepEqual([refused.code, refused.status, refused.param], ['missing_tool_output', 400, 'input']);
  assert.match(refused.message, new RegExp(`"${c}"`));
  assert.equal(lab.model.stats.turns, 1);
  const full = [message('hi'), ...first.snapshot().output, ...[a, b, c].map((id) => output(id, 'x'))];
  assert.ok(await completed(await continued(lab, null, { input: full })));
  assert.equal((await refusal(continued(lab, first, { input: 'never mind' }))).code, 'missing_tool_output');
});

test('an output without the Response that made its call is refused before any other work (B3)', async () => {
  const lab = new Lab(threeCalls.map(({ items }) => turn(...items.slice(0, 1))));
  const first = await continued(lab, null, { input: 'hi' });
  const answer = output('call_1', 'x');
  const classified = lab.engine.stageRuns['pre.classify']?.runs;
  const refused = await refusal(continued(lab, null, { input: [answer] }));
  assert.deepEqual([refused.code, refused.param], ['unknown_call_id', 'input[0].call_id']);
  assert.equal(lab.engine.stageRuns['pre.classify']?.runs, classified);
  assert.ok(await completed(await continued(lab, first, { input: [answer] })));
});

for (const [what, input, code, param] of [
  ['an unknown call (B1)', [output('call_9', 'x')], 'unknown_call_id', 'input[0].call_id'],
  [
    'the wrong kind (B4)',
    [{ ...output('call_1', 'x'), type: 'custom_tool_call_output' }],
    'wrong_output_type',
    'input[0].type',
  ],
  [
    'the same call twice (B5)',
    [output('call_1', 'x'), output('call_1', 'y')],
    'call_already_answered',
    'input[1].call_id',
  ],
] as const)
  test(`outputs that answer ${what} are refused, and the kept state is untouched`, async () => {
    const lab = new Lab([turn(call('ls')), turn(say('done'))]);
    const first = await continued(lab, null, { input: 'hi' });
    const refused = await refusal(continued(lab, first, { input: [...input] }));
    assert.deepEqual([refused.code, refused.param], [code, param]);
    assert.ok(await completed(await continued(lab, first, { input: [output('call_1', 'ok')] })));
    assert.deepEqual(lab.prompt.slice(1), ['assistant to=ls: {}', 'tool: ok']);
  });

test('a call echoed beside its output is dropped: one copy is kept (B9)', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done'))]);
  const first = await continued(lab, null, { input: 'hi' });
  const [echo] = first.snapshot().output;
  const second = await continued(lab, first, { input: [echo, output('call_1', 'bin')] });
  assert.ok(await completed(second));
  assert.deepEqual(lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: bin']);
  const calls = second.kept.transcript.items().filter(({ type }) => type === 'function_call');
  assert.equal(calls.length, 1);
});

test('a call that was answered before is not answered again by a later create', async () => {
  const lab = new Lab([turn(call('ls')), turn(call('ls')), turn(say('done'))]);
  const first = await continued(lab, null, { input: 'hi' });
  const second = await continued(lab, first, { input: [output('call_1', '1')] });
  const refused = await refusal(
    continued(lab, second, { input: [output('call_1', '1'), output('call_2', '2')] }),
  );
  assert.equal(refused.code, 'call_already_answered');
});

test('tools that a create leaves out are out, in the next and in all after it (B38)', async () => {
  const lab = new Lab([turn(say('one')), turn(say('two')), turn(say('three'))]);
  const first = await continued(lab, null, { input: '1', tools: [{ type: 'function', name: 'f' }] });
  const second = await continued(lab, first, { input: '2' });
  const third = await continued(lab, second, { input: '3' });
  assert.ok(await completed(third));
  const tools = lab.turns.map(({ prompt }) => prompt.filter((block) => block.startsWith('system: ')).length);
  assert.deepEqual(tools, [1, 0, 0]);
  assert.deepEqual(
    [second, third].map((response) => response.snapshot().tools),
    [[], []],
  );
});

test('new instructions take the place of the old ones (B39)', async () => {
  const lab = new Lab([turn(say('RED')), turn(say('BLUE'))]);
  const first = await continued(lab, null, { input: 'go', instructions: 'say RED' });
  const second = await continued(lab, first, { input: 'again', instructions: 'say BLUE' });
  assert.ok(await completed(second));
  assert.deepEqual(lab.prompt, ['system: say BLUE', 'user: go', 'assistant: RED', 'user: again']);
  const render = second.receipts.find(({ stage }) => stage === 'render');
  assert.equal(render?.tokens, '<system<say BLUE><user<again>'.length);
});

test('a create with a whole transcript of its own merges nothing, and leaves a suspended Response alone (B40)', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done'))]);
  const suspended = await lab.create('the long story');
  const compacted = [
    message('what happened so far'),
    { type: 'function_call', call_id: 'own', name: 'ls', arguments: '{}' },
    output('own', 'bin'),
  ];
  const fresh = await lab.create({ input: compacted });
  assert.ok(await completed(fresh));
  assert.deepEqual(lab.prompt, ['user: what happened so far', 'assistant to=ls: {}', 'tool: bin']);
  assert.equal(suspended.suspended, true);
  await lab.append(suspended, output('call_1', 'etc'));
  assert.ok(await completed(suspended));
});

test('a history with a call that nobody answered is refused, naming it', async () => {
  const lab = new Lab([turn(say('done'))]);
  const history = [message('hi'), { type: 'function_call', call_id: 'c1', name: 'ls', arguments: '{}' }];
  const refused = await refusal(lab.create({ input: history }));
  assert.deepEqual([refused.code, refused.param], ['missing_tool_output', 'input']);
  assert.match(refused.message, /"c1"/);
});

test('two Responses may continue from the same one, and neither sees the other', async () => {
  const lab = new Lab([turn(call('ls')), turn(say('done'))]);
  const first = await continued(lab, null, { input: 'hi' });
  const left = await continued(lab, first, { input: [output('call_1', 'left')] });
  const right = await continued(lab, first, { input: [output('call_1', 'right'), message('hey')] });
  assert.ok((await completed(left)) && (await completed(right)));
  assert.deepEqual(
    lab.turns.slice(1).map(({ prompt }) => prompt.slice(2)),
    [['tool: left'], ['tool: right', 'user: hey']],
  );
  assert.deepEqual(left.kept.transcript.output('call_1'), output('call_1', 'left'));
});

test('settings count per Response: each has its own output tokens, calls and demand', async () => {
  const lab = new Lab([turn(call('ls')), turn(call('ls')), turn(say('done'))]);
  const settings: Partial<CreateRequestInput> = {
    tools: [{ type: 'function', name: 'ls' }],
    tool_choice: 'required',
    max_output_tokens: 1,
    max_tool_calls: 1,
  };
  const first = await continued(lab, null, { ...settings, input: 'hi' });
  const second = await continued(lab, first, { ...settings, input: [output('call_1', '1')] });
  assert.ok(await completed(second));
  assert.deepEqual(
    lab.turns.map(({ outputTokensMax, toolChoice }) => [outputTokensMax, toolChoice]),
    [
      [1, 'required'],
      [1, 'required'],
    ],
  );
});
