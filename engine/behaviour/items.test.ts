/** Items of every public kind, through a whole rollout: what the client sees, owes and pays, and what is kept. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { ScriptItem } from '../samplers/scripted.js';
import { checkGrammar } from '../testing/grammar.js';
import {
  callIdsOf,
  eventsOf,
  eventsOfType,
  Lab,
  message,
  output,
  refusal,
  say,
  turn,
} from '../testing/lab.js';
import { windowsOf } from '../testing/windows.js';
import type { LiveResponse } from '../live-response.js';

type Fields = { readonly type: string } & Readonly<Record<string, unknown>>;

function opaque(fields: Fields): ScriptItem {
  return { type: 'opaque', item: { ...fields, opaque: true } };
}

/** Both shapes of the stream keep the grammar. */
function checkBoth(response: LiveResponse): void {
  const events = eventsOf(response);
  checkGrammar(events, { native: true });
  const [created] = events;
  assert.ok(created?.type === 'response.created');
  for (const window of windowsOf(created.response, response.entries(0))) checkGrammar(window);
}

const thoughts: ScriptItem = {
  type: 'reasoning',
  parts: [
    { part: 'summary', text: 'first I look' },
    { part: 'summary', text: 'then I think' },
    { part: 'reasoning_text', text: 'raw and long' },
  ],
  encrypted_content: 'gAAA',
};
const cited: ScriptItem = {
  type: 'message',
  phase: 'final_answer',
  parts: [
    { part: 'text', text: 'as it says', annotations: [{ type: 'url_citation', url: 'https://a.example' }] },
    { part: 'refusal', text: 'but no more' },
  ],
};

test('parts, annotations, phases and refusals keep the grammar, token by token and at once (P51 to P54, P62)', async () => {
  for (const deltaTokensMax of [1, Infinity])
    for (const interleave of [false, true]) {
      const lab = new Lab([{ items: [thoughts, say('I say'), cited], interleave }], { deltaTokensMax });
      const response = await lab.create();
      assert.equal((await response.settled).outcome.status, 'completed');
      checkBoth(response);
      const [reasoning, , answer] = response.snapshot().output;
      assert.deepEqual(reasoning?.['summary'], [
        { type: 'summary_text', text: 'first I look' },
        { type: 'summary_text', text: 'then I think' },
      ]);
      assert.deepEqual(answer?.['content'], [
        {
          type: 'output_text',
          text: 'as it says',
          annotations: [{ type: 'url_citation', url: 'https://a.example' }],
        },
        { type: 'refusal', refusal: 'but no more' },
      ]);
      assert.equal(answer['phase'], 'final_answer');
    }
});

test('what the model enclosed goes back to it, whether or not the client saw it', async () => {
  const lab = new Lab([turn(thoughts, say('one')), turn(say('two'))]);
  const first = await lab.create({}, { handOff: 'complete' });
  assert.ok(!JSON.stringify(eventsOf(first)).includes('gAAA'), 'nobody asked for it');
  await lab.create({ input: 'go on' }, { handOff: 'complete', kept: first.kept });
  const kept = lab.turns[1]?.context.transcript.items() ?? [];
  assert.deepEqual(
    kept.flatMap((item) => ('encrypted_content' in item ? [item.encrypted_content] : [])),
    ['gAAA'],
  );
});

test('a client that sends encrypted reasoning back pays for no more of it than one that cannot', async () => {
  const tokens = async (fields: object): Promise<number | undefined> => {
    const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], ...fields };
    const lab = new Lab(() => turn(say('x')));
    await lab.create({ input: [message('q'), reasoning, message('r')] });
    return lab.turns[0]?.context.tokens;
  };
  assert.equal(await tokens({ encrypted_content: 'g'.repeat(4000) }), await tokens({}));
});

const owedKinds: readonly (readonly [Fields, (id: string) => object])[] = [
  [
    { type: 'shell_call', action: { commands: ['ls'] } },
    (id) => ({
      type: 'shell_call_output',
      call_id: id,
      output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
  ],
  [
    { type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {} } },
    (id) => ({ type: 'local_shell_call_output', id, output: 'a' }),
  ],
  [
    { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } },
    (id) => ({ type: 'apply_patch_call_output', call_id: id, status: 'completed' }),
  ],
  [
    { type: 'computer_call', action: { type: 'screenshot' }, pending_safety_checks: [] },
    (id) => ({
      type: 'computer_call_output',
      call_id: id,
      output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    }),
  ],
  [
    { type: 'tool_search_call', execution: 'client', arguments: { query: 'q' } },
    (id) => ({ type: 'tool_search_output', call_id: id, execution: 'client', tools: [] }),
  ],
  [
    { type: 'mcp_approval_request', server_label: 's', name: 'rm', arguments: '{}' },
    (id) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true }),
  ],
];

for (const [fields, answer] of owedKinds) {
  test(`a ${fields.type} suspends the rollout, and its answer resumes it`, async () => {
    const lab = new Lab([turn(opaque(fields)), turn(say('done'))]);
    const response = await lab.create();
    const [stub] = response.requiredInput;
    assert.ok(stub !== undefined && response.suspended);
    assert.equal(stub.type, (answer('x') as { type: string }).type);
    const wrong = await refusal(response.append([output(stub.call_id, 'x')]));
    assert.equal(wrong.code, 'wrong_output_type');
    const accepted = await lab.append(response, answer(stub.call_id));
    assert.deepEqual([accepted.call_ids, accepted.required_input], [[stub.call_id], []]);
    assert.equal((await response.settled).outcome.status, 'completed');
    assert.deepEqual(await response.append([answer(stub.call_id)]), accepted, 'a resend (S2)');
    checkBoth(response);
    const {
      id: _,
      call_id: __,
      status: ___,
      ...shown
    } = response.snapshot().output[0] ?? { id: '', type: '' };
    assert.deepEqual(shown, fields, 'it keeps its fields');
  });

  test(`a ${fields.type} is paid by the create that continues it, echoed or not (K4)`, async () => {
    for (const echoed of [false, true]) {
      const lab = new Lab([turn(opaque(fields)), turn(say('done'))]);
      const first = await lab.create({}, { handOff: 'complete' });
      const [owed = ''] = first.kept.owed;
      const echo = echoed ? first.snapshot().output : [];
      const next = await lab.create(
        { input: [...echo, answer(owed)] },
        { handOff: 'complete', kept: first.kept },
      );
      assert.equal((await next.settled).outcome.status, 'completed');
      assert.equal(next.kept.transcript.items().filter(({ type }) => type === fields.type).length, 1);
    }
  });

  test(`a ${fields.type} that nobody answers is shown as incomplete`, async () => {
    const lab = new Lab([turn(opaque(fields))]);
    const response = await lab.create();
    response.cancel();
    await lab.settle();
    assert.equal(response.snapshot().output[0]?.['status'], 'incomplete');
    checkGrammar(eventsOf(response), { native: true });
  });
}

test('hosted tools that ran elsewhere end no turn, and stand unanswered in a history', async () => {
  const hosted = [
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_call',
  ];
  const ran = hosted.map((type) => opaque({ type, status: 'completed' }));
  const listed = opaque({ type: 'mcp_list_tools', server_label: 's', tools: [] });
  const lab = new Lab([turn(listed, ...ran, say('found'))]);
  const response = await lab.create();
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.deepEqual(callIdsOf(response), []);
  checkBoth(response);
  const replay = new Lab([turn(), turn(say('again'))]);
  const again = await replay.create({
    input: [message('q'), ...response.snapshot().output, message('more')],
  });
  assert.equal((await again.settled).outcome.status, 'completed');
});

test('a shell that the service runs has its output in the same turn, and owes nothing', async () => {
  const lab = new Lab([
    turn(
      opaque({ type: 'shell_call', call_id: 'up_1', status: 'completed', action: { commands: ['ls'] } }),
      opaque({ type: 'shell_call_output', call_id: 'up_1', output: [] }),
      say('done'),
    ),
  ]);
  const response = await lab.create();
  assert.equal((await response.settled).outcome.status, 'completed');
  checkBoth(response);
  const late = await refusal(response.append([{ type: 'shell_call_output', call_id: 'up_1', output: [] }]));
  assert.equal(late.code, 'response_already_completed');
});

test('a content filter of the model ends the Response as incomplete, its open item too (P58)', async () => {
  const lab = new Lab([{ items: [say('some words that end')], filterAfterTokens: 2 }]);
  const response = await lab.create();
  assert.deepEqual((await response.settled).outcome, { status: 'incomplete', reason: 'content_filter' });
  assert.deepEqual(response.snapshot().incomplete_details, { reason: 'content_filter' });
  assert.equal(response.snapshot().output[0]?.['status'], 'incomplete');
  checkBoth(response);
});

test('usage that the model learns at its end is what the Response shows and is billed', async () => {
  const lab = new Lab([{ items: [say('four')], usage: { held: 0, output: 70, reasoning: 60 } }]);
  const response = await lab.create();
  const { usage } = await response.settled;
  assert.deepEqual([usage.output, usage.reasoning], [70, 60]);
  assert.equal(response.snapshot().usage?.output_tokens_details.reasoning_tokens, 60);
});

test('text and annotations of a citation come before its text is whole', async () => {
  const lab = new Lab([turn(cited)], { deltaTokensMax: 1 });
  const response = await lab.create();
  const types = eventsOf(response).map(({ type }) => type);
  assert.ok(
    types.indexOf('response.output_text.annotation.added') < types.indexOf('response.output_text.done'),
  );
  assert.equal(eventsOfType(response, 'response.output_text.annotation.added')[0]?.content_index, 0);
});
