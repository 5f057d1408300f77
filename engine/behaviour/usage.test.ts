/** What a rollout is said to have used, and what it is billed. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import type { LiveResponse } from '../live-response.js';
import type { Usage } from '../protocol/server-events.js';
import type { ScriptItem, ScriptTurn } from '../samplers/scripted.js';
import type { Kept } from '../stages.js';
import {
  call,
  customCall,
  eventsOfType,
  Lab,
  message,
  output,
  say,
  turn,
  type LabOptions,
} from '../testing/lab.js';

const think: ScriptItem = { type: 'reasoning', summary: 'let me think' };
const script = [
  turn(think, say('looking'), call('a', '{"path":"/"}'), call('b')),
  turn(call('c')),
  turn(say('all done')),
];
const perConversation: LabOptions = { session: { policy: 'per-conversation' } };
const request = { instructions: 'be brief', input: 'list the root', prompt_cache_key: 'one rollout' };

function answersTo(response: LiveResponse) {
  return response
    .snapshot()
    .output.flatMap(({ type, name, call_id }) =>
      type.endsWith('_call')
        ? [{ type: `${type}_output`, call_id: String(call_id), output: `answer to ${String(name)}` }]
        : [],
    );
}

async function playNative(lab: Lab): Promise<LiveResponse[]> {
  const response = await lab.create(request);
  while (response.suspended) {
    const owed = new Set(response.requiredInput.map((stub) => stub.call_id));
    await lab.append(response, ...answersTo(response).filter((item) => owed.has(item.call_id)));
  }
  return [response];
}

async function playChain(lab: Lab): Promise<LiveResponse[]> {
  const responses: LiveResponse[] = [];
  let input: unknown = request.input;
  let kept: Kept | null = null;
  for (;;) {
    const response: LiveResponse = await lab.create({ ...request, input }, { kept, handOff: 'complete' });
    responses.push(response);
    ({ kept } = response);
    if (kept.owed.length === 0) return responses;
    input = answersTo(response);
  }
}

async function playReplay(lab: Lab): Promise<LiveResponse[]> {
  const responses: LiveResponse[] = [];
  const history: unknown[] = [message(request.input)];
  for (;;) {
    const response = await lab.create({ ...request, input: [...history] }, { handOff: 'complete' });
    responses.push(response);
    if (response.kept.owed.length === 0) return responses;
    history.push(...response.snapshot().output, ...answersTo(response));
  }
}

function usageOf(response: LiveResponse | undefined): Usage {
  const usage = response?.snapshot().usage;
  assert.ok(usage);
  return usage;
}

/** Tokens of the context before the last turn, and with what it said: what a rollout's tokens are, each once. */
function contextTokens(lab: Lab): number {
  return lab.turns.at(-1)?.context.tokens ?? 0;
}

/** Of the context, what the model wrote itself: as rendered, its tokens enter the context without being read. */
function sampledTokens(lab: Lab): number {
  const entries = [...(lab.turns.at(-1)?.context.transcript.entries() ?? [])];
  const sampled = entries.filter(
    ({ item }) =>
      item.type === 'function_call' ||
      item.type === 'reasoning' ||
      ('role' in item && item.role === 'assistant'),
  );
  return sampled.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

for (const [name, options] of [
  ['keeps its state between turns', perConversation],
  ['keeps nothing between turns', {}],
] as const)
  test(`natively every input token is counted once, whether the model ${name} or not (B113)`, async () => {
    const lab = new Lab(script, options);
    const [response] = await playNative(lab);
    const total = usageOf(response);
    const read = contextTokens(lab) - sampledTokens(lab);
    assert.deepEqual([total.input_tokens, total.input_tokens_details.cached_tokens], [read, 0]);
    const bills = lab.store.bills;
    assert.deepEqual(
      bills.map((bill) => [bill.uncached_input_tokens, bill.cached_input_tokens, bill.output_tokens]),
      [[read, 0, total.output_tokens]],
    );
  });

test('the usage of each turn adds up to that of the Response, reasoning included', async () => {
  const lab = new Lab(script);
  const [response] = await playNative(lab);
  assert.ok(response);
  const turns = eventsOfType(response, 'response.done').map(({ usage }) => usage);
  assert.deepEqual(
    turns.map((usage) => usage.input_tokens),
    lab.turns.slice(0, 2).map(({ context }) => context.tokens),
  );
  const uncached = turns.map((usage) => usage.input_tokens - usage.input_tokens_details.cached_tokens);
  const lastTurn = '<tool<answer to c>'.length;
  const total = usageOf(response);
  assert.equal(
    uncached.reduce((sum, tokens) => sum + tokens, lastTurn),
    total.input_tokens,
  );
  assert.equal(turns[0]?.output_tokens_details.reasoning_tokens, 3);
  assert.deepEqual(total.output_tokens_details, { reasoning_tokens: 3 });
  assert.equal(
    total.output_tokens,
    turns.reduce((sum, usage) => sum + usage.output_tokens, 2),
  );
  assert.equal(total.total_tokens, total.input_tokens + total.output_tokens);
});

test('the usage in the terminal event, in the settlement and in the bill is the same (B111)', async () => {
  const lab = new Lab([...script, turn(think, say('once more'))], perConversation);
  const [first] = await playNative(lab);
  const second = await lab.create({ ...request, input: 'again' }, { kept: first?.kept ?? null });
  for (const [index, response] of [first, second].entries()) {
    assert.ok(response);
    const { usage } = await response.settled;
    const wire = usageOf(response);
    const bill = lab.store.bills[index];
    assert.deepEqual(
      [usage.held + usage.read, usage.held, usage.output, usage.reasoning],
      [
        wire.input_tokens,
        wire.input_tokens_details.cached_tokens,
        wire.output_tokens,
        wire.output_tokens_details.reasoning_tokens,
      ],
    );
    assert.deepEqual(
      [bill?.cached_input_tokens, bill?.uncached_input_tokens, bill?.output_tokens, bill?.reasoning_tokens],
      [usage.held, usage.read, usage.output, usage.reasoning],
    );
  }
  assert.ok((lab.store.bills[1]?.cached_input_tokens ?? 0) > 0);
});

test('as a chain every Response says the whole context, with what was there before as cached (B113)', async () => {
  const lab = new Lab(script);
  const responses = await playChain(lab);
  assert.equal(responses.length, 3);
  for (const [index, response] of responses.entries()) {
    const usage = usageOf(response);
    assert.equal(usage.input_tokens, lab.turns[index]?.context.tokens);
    const before = responses[index - 1]?.kept;
    const cached = before === undefined ? 0 : before.preamble.tokens.length + before.transcript.tokens;
    assert.equal(usage.input_tokens_details.cached_tokens, cached);
  }
});

/** What one rollout costs in one shape, with what the model read last. */
async function costOf(play: (lab: Lab) => Promise<LiveResponse[]>, turns: readonly ScriptTurn[]) {
  const lab = new Lab(turns, perConversation);
  const responses = await play(lab);
  assert.equal((await responses.at(-1)?.settled)?.outcome.status, 'completed');
  assert.equal(lab.turns.length, turns.length);
  const { count, ...billed } = lab.store.billed;
  assert.equal(count, responses.length);
  const reasoning = lab.store.bills.reduce((sum, bill) => sum + bill.reasoning_tokens, 0);
  return { ...billed, reasoning, prompt: lab.prompt };
}

test('the bill of one rollout is the same natively, as a chain and as a replay', async () => {
  const items = {
    think,
    say: say('looking'),
    call: call('a', '{"path":"/"}'),
    custom: customCall('b', '***'),
  };
  const named = fc.constantFrom<(keyof typeof items)[]>('think', 'say', 'call', 'custom');
  const sampled = fc.record({ items: fc.array(named, { maxLength: 4 }), interleave: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(sampled, { maxLength: 5 }), async (drawn) => {
      const tools = drawn.map(({ items: names, interleave }) => ({
        items: [...names.map((name) => items[name]), call('last')],
        interleave,
      }));
      const turns = [...tools, turn(say('all done'))];
      const native = await costOf(playNative, turns);
      assert.ok(native.uncached_input_tokens > 0 && native.output_tokens > 0);
      assert.deepEqual(await costOf(playChain, turns), native);
      assert.deepEqual(await costOf(playReplay, turns), native);
    }),
    { seed: 20_251_129, numRuns: 30 },
  );
});

test('a replay to a model that keeps nothing is billed its whole history each turn', async () => {
  const lab = new Lab(script);
  await playReplay(lab);
  const contexts = lab.turns.reduce((sum, { context }) => sum + context.tokens, 0);
  assert.equal(lab.store.billed.uncached_input_tokens, contexts);
});

test('what an ended rollout never read is billed to the Response that reads it', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  await lab.append(response, output('call_1', 'an answer'));
  response.cancel();
  await lab.settle();
  const next = await lab.create('go on', { kept: response.kept });
  assert.equal((await next.settled).outcome.status, 'completed');
  const unread = ['<tool<an answer>', '<tool<aborted>', '<user<go on>'].join('').length;
  assert.equal(lab.store.bills[1]?.uncached_input_tokens, unread);
});

test('another model has read nothing of a conversation, and the first one still holds what it read', async () => {
  const lab = new Lab([turn(say('one')), turn(say('two')), turn(say('three'))], perConversation);
  const asked: LiveResponse[] = [];
  for (const model of ['demo', 'other', 'demo'])
    asked.push(
      await lab.create(
        { model, input: 'go on', prompt_cache_key: 'one conversation' },
        { kept: asked.at(-1)?.kept ?? null, handOff: 'complete' },
      ),
    );
  const [first, second, third] = asked.map(usageOf);
  assert.equal(first?.input_tokens_details.cached_tokens, 0);
  assert.equal(second?.input_tokens_details.cached_tokens, 0);
  assert.ok((third?.input_tokens_details.cached_tokens ?? 0) >= (first?.input_tokens ?? Infinity));
  assert.ok((third?.input_tokens_details.cached_tokens ?? 0) < (second?.input_tokens ?? 0));
});
