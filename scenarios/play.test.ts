import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createRequestSchema } from '../engine/protocol/requests.js';
import { o200kTokenizer } from '../engine/tokenizer.js';
import { ProtocolError } from '../engine/protocol/errors.js';
import type { SamplerOpening, TurnRequest } from '../engine/samplers/sampler.js';
import type { ScriptTurn } from '../engine/samplers/script.js';
import { VirtualClock } from '../engine/clock.js';
import { Transcript, type Entry } from '../engine/transcript.js';
import { builtinScenarios } from './builtin.js';
import { example } from './example.js';
import { requestsOf, rolloutOf, turnsOf } from './generate.js';
import { scenarioModel, scenarioScript } from './model.js';
import { rolloutRequest, toolOutputs } from './request.js';
import type { Scenario } from './scenario.js';
import { encoded } from './text.js';

const tokenizer = o200kTokenizer(new VirtualClock());
const scenarios = [...builtinScenarios.values()];

function openingOf(metadata: Record<string, string>): SamplerOpening {
  return { conversation: 'c', request: createRequestSchema.parse({ model: 'scenario', metadata }) };
}

function turnRequest(transcript: Transcript): TurnRequest {
  return {
    turn: 1,
    context: { preamble: new Uint32Array(), transcript, tokens: transcript.tokens },
    toolChoice: 'auto',
    parallelToolCalls: true,
    outputTokensMax: Infinity,
  };
}

const none = new Uint32Array();
const asked: Entry = { item: { type: 'message', role: 'user', content: 'x' }, tokens: none };
const said: Entry = { item: { type: 'message', role: 'assistant', content: 'x' }, tokens: none };

/** What a turn leaves in a transcript: its items, then an output for each call. */
function entriesOf(turn: ScriptTurn, number: number): Entry[] {
  const calls: Entry[] = [];
  const outputs: Entry[] = [];
  for (const [index, item] of turn.items.entries()) {
    const call_id = `call_${number}_${index}`;
    if (item.type !== 'function_call') continue;
    calls.push({
      item: { type: 'function_call', call_id, name: item.name, arguments: item.arguments },
      tokens: none,
    });
    outputs.push({ item: { type: 'function_call_output', call_id, output: 'x' }, tokens: none });
  }
  return [...calls, ...outputs];
}

/** Plays a rollout to its end, as a server would: all turns of all requests, by the transcript alone. */
function play(scenario: Scenario, seed: number, index: number): ScriptTurn[] {
  const script = scenarioScript();
  const opening = openingOf({ ...rolloutRequest(scenario, seed, index).metadata });
  const rollout = rolloutOf(scenario, seed, index);
  const turns: ScriptTurn[] = [];
  let requests = 0;
  let transcript = Transcript.empty.extend([asked]);
  for (;;) {
    const turn = script(turnRequest(transcript), opening);
    turns.push(turn);
    const entries = entriesOf(turn, turns.length);
    const answered = entries.length === 0;
    if (answered && ++requests === requestsOf(rollout).length) return turns;
    transcript = transcript.extend(answered ? [said, asked] : entries);
  }
}

test('model and client agree on the calls of every turn', () => {
  for (const scenario of scenarios)
    for (const index of [0, 1, 2]) {
      const outputFor = toolOutputs(scenario, 1, index);
      const turns = play(scenario, 1, index);
      assert.equal(turns.length, turnsOf(rolloutOf(scenario, 1, index)).length);
      for (const [number, turn] of turns.entries()) {
        const calls = turn.items.filter(({ type }) => type === 'function_call').length;
        for (let call = 0; call < calls; call++) assert.ok(outputFor(number + 1, call).text.length > 0);
        assert.throws(() => outputFor(number + 1, calls), RangeError);
      }
    }
});

test('what is written and answered has the tokens the rollout says', async () => {
  const count = async (text: string): Promise<number> =>
    (await tokenizer.encode(text, new AbortController().signal)).length;
  const [scenario] = scenarios;
  assert.ok(scenario);
  const rollout = rolloutOf(scenario, 5, 9);
  const request = rolloutRequest(scenario, 5, 9);
  const outputFor = toolOutputs(scenario, 5, 9);
  assert.equal(await count(request.input), rollout.context_tokens);
  assert.equal(await count(request.instructions), scenario.instructions_tokens);
  for (const [number, turn] of play(scenario, 5, 9).entries()) {
    const planned = rollout.turns[number];
    assert.ok(planned);
    for (const item of turn.items) {
      if (item.type === 'message') assert.equal(item.tokens?.length, planned.output_tokens);
    }
    const written = turn.items.filter((item) => item.type === 'function_call');
    for (const [call, { arguments_tokens, output_tokens, tool_ms }] of planned.calls.entries()) {
      assert.equal(await count(written[call]?.arguments ?? ''), arguments_tokens);
      assert.equal(await count(outputFor(number + 1, call).text), output_tokens);
      assert.equal(outputFor(number + 1, call).toolMs, tool_ms);
    }
  }
});

test('what a trace recorded is said as it was: by the user, the model and the tools', async () => {
  const kept = (text: string) => ({ tokens: encoded(text).tokens.length, text });
  const recorded: Scenario = {
    name: 'recorded',
    question: 'Is it said?',
    source: 'Made up.',
    instructions_tokens: 5,
    tools_count: 1,
    tools_bytes: 300,
    rollouts: [
      {
        context_tokens: kept('Ask.').tokens + 20,
        context_text: kept('Ask.'),
        turns: [
          {
            output_tokens: kept('I look.').tokens,
            text: kept('I look.'),
            calls: [
              {
                arguments_tokens: kept('{}').tokens,
                arguments_text: '{}',
                tool_ms: 1,
                output_tokens: kept('Seen.').tokens,
                output_text: kept('Seen.'),
              },
            ],
          },
          { output_tokens: kept('Done.').tokens + 9, text: kept('Done.'), calls: [] },
        ],
      },
    ],
  };
  const { input, metadata } = rolloutRequest(recorded, 1, 0);
  assert.ok(input.endsWith('\n\nAsk.'));
  assert.equal(encoded(input).tokens.length, kept('Ask.').tokens + 20);
  assert.equal(toolOutputs(recorded, 1, 0)(1, 0).text, 'Seen.');
  const script = scenarioScript(new Map([[recorded.name, recorded]]));
  const transcript = Transcript.empty.extend([asked]);
  const first = script(turnRequest(transcript), openingOf({ ...metadata }));
  assert.deepEqual(first.items, [
    { type: 'message', ...encoded('I look.') },
    { type: 'function_call', name: 'tool_0', arguments: '{}', tokens: encoded('{}').tokens },
  ]);
  const second = script(turnRequest(transcript.extend(entriesOf(first, 1))), openingOf({ ...metadata }));
  const [answer] = second.items;
  assert.ok(answer?.type === 'message' && String(answer.text).endsWith('\n\nDone.'));
  assert.equal(answer.tokens?.length, kept('Done.').tokens + 9);
});

test('the same seed gives the same bytes and another seed gives others', () => {
  for (const scenario of scenarios) {
    assert.deepEqual(play(scenario, 1, 4), play(scenario, 1, 4));
    assert.deepEqual(rolloutRequest(scenario, 1, 4), rolloutRequest(scenario, 1, 4));
    assert.notEqual(rolloutRequest(scenario, 1, 4).input, rolloutRequest(scenario, 2, 4).input);
    assert.notEqual(rolloutRequest(scenario, 1, 4).input, rolloutRequest(scenario, 1, 5).input);
  }
  const claim = builtinScenarios.get('claim-regime');
  assert.ok(claim);
  assert.notDeepEqual(play(claim, 1, 0), play(claim, 2, 0));
  assert.notEqual(toolOutputs(claim, 1, 0)(1, 0).text, toolOutputs(claim, 2, 0)(1, 0).text);
});

test('the model tells a turn with exactly its text and tokens, at its pace', async () => {
  const clock = new VirtualClock();
  const model = scenarioModel({ clock, firstTokenMs: 50, decodeTokensPerSecond: 1000 });
  const session = model.open(openingOf({ scenario: 'claim-regime', seed: '3', rollout: '2' }));
  const told = { text: '', tokens: 0, ended: 0 };
  const tell = async (): Promise<void> => {
    const turn = turnRequest(Transcript.empty.extend([asked]));
    for await (const event of session.sample(turn, new AbortController().signal)) {
      if (event.type === 'delta') {
        told.text += String(event.delta);
        told.tokens += event.tokens;
      }
      if (event.type === 'item_end') told.ended += event.tokens?.length ?? 0;
    }
  };
  await clock.runUntil(tell());
  session.release();
  const claim = builtinScenarios.get('claim-regime');
  assert.ok(claim);
  const [message, call] = play(claim, 3, 2)[0]?.items ?? [];
  assert.ok(message?.type === 'message' && call?.type === 'function_call');
  assert.equal(told.text, `${String(message.text)}${call.arguments}`);
  assert.deepEqual([told.tokens, told.ended], [214, 214]);
  assert.equal(clock.now(), 50 + 213);
});

test('a turn is built once and given again', () => {
  const script = scenarioScript();
  const opening = openingOf({ scenario: 'claim-regime', seed: '1', rollout: '0' });
  const request = turnRequest(Transcript.empty.extend([asked]));
  assert.equal(script(request, opening), script(request, opening));
});

test('requests are valid, and their tools have the count and about the bytes of the scenario', () => {
  for (const scenario of scenarios) {
    const request = rolloutRequest(scenario, 1, 0);
    const parsed = createRequestSchema.parse(request);
    assert.equal(parsed.tools?.length, scenario.tools_count);
    const bytes = JSON.stringify(request.tools).length;
    assert.ok(Math.abs(bytes - scenario.tools_bytes) <= 8 * scenario.tools_count, `${bytes}`);
    for (const turn of play(scenario, 1, 0))
      for (const item of turn.items)
        if (item.type === 'function_call') assert.ok(request.tools.some(({ name }) => name === item.name));
  }
});

test('metadata that names no rollout is refused by its field', () => {
  const script = scenarioScript();
  const start = turnRequest(Transcript.empty.extend([asked]));
  const valid = { scenario: 'single', seed: '1', rollout: '0' };
  const refused = (metadata: Record<string, string>, param: string): void =>
    assert.throws(
      () => script(start, openingOf(metadata)),
      (fault) => fault instanceof ProtocolError && fault.code === 'invalid_value' && fault.param === param,
    );
  refused({}, 'metadata.scenario');
  refused({ ...valid, scenario: 'other' }, 'metadata.scenario');
  refused({ ...valid, seed: 'one' }, 'metadata.seed');
  refused({ ...valid, rollout: '' }, 'metadata.rollout');
  refused({ ...valid, rollout: '-1' }, 'metadata.rollout');
});

test('a rollout that has ended has no further turn', () => {
  const opening = openingOf({ scenario: 'single', seed: '1', rollout: '0' });
  const answer: Entry = { item: { type: 'message', role: 'assistant', content: 'x' }, tokens: none };
  const ended = Transcript.empty.extend([asked, answer, asked, answer, asked]);
  assert.throws(
    () => scenarioScript()(turnRequest(ended), opening),
    (fault) => fault instanceof ProtocolError && fault.param === 'input',
  );
});

test('the example prints its rollout, the same for the same seed', () => {
  const lines = example(1).split('\n');
  assert.equal(lines.length, 5);
  assert.match(lines[3] ?? '', /^turn 2, call 0: 8000 ms, /);
  assert.equal(lines[4], '3 turns, 3 calls, 1860 tokens in, 200 out, 8009 ms of tools');
  assert.equal(example(1), example(1));
  assert.notEqual(example(1), example(2));
});
