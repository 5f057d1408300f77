import assert from 'node:assert/strict';
import { test } from 'node:test';

import { o200kTokenizer, VirtualClock } from '../../engine/index.js';
import { output } from '../../engine/testing/lab.js';
import type { RecordedInput, RecordedOutput, RecordedTurn } from '../../transport/record-lines.js';
import { playRollout, recorded, rollouts } from '../../transport/testing/recorded.js';
import { rolloutOf } from '../generate.js';
import { scenarioScript } from '../model.js';
import { rolloutRequest, toolOutputs } from '../request.js';
import { parseScenario, type Rollout } from '../scenario.js';
import { scenarioOf } from './merge.js';
import { complaint, lines, sessionsIn, tokensOf } from './testing/reading.js';

const tokenizer = o200kTokenizer(new VirtualClock());
const header = {
  format: 'long-response-recording',
  version: 1,
  started_at: '2001-01-01T00:00:00.000Z',
  text: false,
};

const call = (arguments_tokens: number, tool_ms: number, output_tokens: number) => ({
  arguments_tokens,
  tool_ms,
  output_tokens,
});
const played = parseScenario({
  name: 'played',
  question: 'Does a recording say what was played?',
  source: 'Made up.',
  instructions_tokens: 60,
  tools_count: 2,
  tools_bytes: 900,
  rollouts: [
    {
      context_tokens: 300,
      turns: [
        { output_tokens: 12, calls: [call(9, 250, 70)] },
        // Outputs that go back together have one time.
        { output_tokens: 0, calls: [call(20, 1000, 5), call(7, 1000, 33)] },
        { output_tokens: 3, calls: [call(30, 0, 1)] },
        { output_tokens: 41, calls: [] },
      ],
    },
    { context_tokens: 7, turns: [{ output_tokens: 5, calls: [] }] },
  ],
});
const words = { name: 'again', question: 'Is it the same?', source: 'Recorded.' };

function unlabelled({ context_tokens, turns }: Rollout): Rollout {
  return { context_tokens, turns };
}

for (const design of Object.keys(rollouts))
  for (const text of [false, true])
    test(`${design}: a rollout that was played is imported with the same turns, tokens and tool times${text ? ', and its words' : ''}`, async () => {
      const pace = {
        firstTokenMs: 40,
        decodeTokensPerSecond: 500,
        session: { policy: 'per-conversation' },
      } as const;
      const scripted = scenarioScript(new Map([[played.name, played]]));
      await using recording = await recorded(scripted, { ...pace, text, engine: { tokenizer } });
      const { serving } = recording;
      const { clock } = serving.lab;
      for (const index of [0, 1]) {
        const outputFor = toolOutputs(played, 1, index);
        await playRollout(serving, design, { ...rolloutRequest(played, 1, index) }, async (turn, calls) => {
          const outputs = calls.map((_, place) => outputFor(turn, place));
          await clock.advance(Math.max(...outputs.map(({ toolMs }) => toolMs)));
          return calls.map((callId, place) => output(callId, outputs[place]?.text));
        });
      }
      const turns = recording.turns();
      assert.equal(turns.length, 5);
      const sessions = await sessionsIn('recording', lines({ ...header, text }, ...turns));
      assert.equal(sessions.length, 2);
      const again = scenarioOf(words, sessions);
      const { instructions_tokens, tools_count, tools_bytes, rollouts: imported = [] } = again;
      assert.deepEqual([instructions_tokens, tools_count], [played.instructions_tokens, played.tools_count]);
      assert.equal(tools_bytes, JSON.stringify(rolloutRequest(played, 1, 0).tools).length);
      for (const [index, rollout] of imported.entries()) {
        const wordless = JSON.parse(
          JSON.stringify(unlabelled(rollout), (key, value: unknown) =>
            key.endsWith('text') ? undefined : value,
          ),
        ) as Rollout;
        assert.deepEqual(wordless, rolloutOf(played, 1, index));
        const said = rollout.context_text?.text;
        assert.equal(said, text ? rolloutRequest(played, 1, index).input : undefined);
      }
      for (const { gaps } of sessions)
        assert.deepEqual(gaps, { untimed: 0, unread: 0, uncounted: 0, shrunk: 0 });
      const calling = imported.flatMap((rollout) => rollout.turns.flatMap((each) => each.calls));
      assert.equal(calling.length, 4);
      if (text) for (const { arguments_text } of calling) assert.match(arguments_text ?? '', /^\{"input":" /);
      for (const { first_token_ms, decode_tokens_per_second, end } of turns)
        assert.deepEqual([first_token_ms, Math.round(decode_tokens_per_second ?? 0), end], [40, 500, 'done']);
    });

let clock = 0;
const from = { instructions_tokens: 20, tools_count: 1, tools_bytes: 400, tools_tokens: 90 };
const said = (tokens: number, text?: string): RecordedInput & RecordedOutput => ({
  kind: 'message',
  tokens,
  ...(text === undefined ? {} : { text }),
});
const calls = (call_id: string, tokens = 10): RecordedOutput => ({ kind: 'call', tokens, call_id });
const answers = (call_id: string, at_ms: number, tokens = 10): RecordedInput => ({
  kind: 'output',
  tokens,
  call_id,
  at_ms,
});

/** A turn that took 100 ms, right after the one before it. */
function recordedTurn(
  input: readonly RecordedInput[],
  written: readonly RecordedOutput[],
  more: Partial<RecordedTurn> = {},
): RecordedTurn {
  const started_at_ms = clock;
  clock += 100;
  return {
    type: 'turn',
    response_id: `resp_${clock}`,
    turn: 1,
    design: 'chain',
    model: 'm',
    continues: null,
    ...from,
    history_items: 0,
    history_tokens: 0,
    input,
    output: written,
    output_tokens: 0,
    reasoning_tokens: 0,
    held_tokens: 0,
    read_tokens: 0,
    started_at_ms,
    first_token_ms: 1,
    decode_tokens_per_second: null,
    ended_at_ms: clock,
    handed_off_at_ms: clock,
    end: 'done',
    ...more,
  };
}

async function importedFrom(...turns: readonly RecordedTurn[]) {
  clock = 0;
  return sessionsIn('recording', lines(header, ...turns));
}

test('how fast the model wrote is told by the turns that took their time', async () => {
  const at = { first_token_ms: 20, decode_tokens_per_second: 500 };
  const first = recordedTurn([said(50)], [said(40)], { response_id: 'a', ...at });
  const second = recordedTurn([said(6)], [said(9)], { continues: 'a', history_items: 2, history_tokens: 58 });
  const [session] = await importedFrom(first, second);
  assert.deepEqual(session?.written, { tokens: 40, ms: 80 });
  const [untimed] = await importedFrom(recordedTurn([said(50)], [said(40)]));
  assert.equal(untimed?.written, undefined);
});

test('a later request is a rollout of the same session, with what was said before in its context', async () => {
  const first = recordedTurn([said(50)], [said(8)], { response_id: 'a' });
  const second = recordedTurn([said(6)], [said(9)], { continues: 'a', history_items: 2, history_tokens: 58 });
  const [session, ...others] = await importedFrom(first, second);
  assert.ok(session && others.length === 0);
  assert.deepEqual(
    session.rollouts.map(({ label, context_tokens }) => [label, context_tokens]),
    [
      ['a, request 1', 50],
      ['a, request 2', 64],
    ],
  );
});

test('a turn that failed and was tried again is left out, and a second answer is a conversation of its own', async () => {
  const first = recordedTurn([said(50)], [calls('x')], { response_id: 'a' });
  const history = { history_items: 2, history_tokens: 60, continues: 'a' };
  const broken = recordedTurn([answers('x', 130)], [said(1)], { ...history, end: 'failed' });
  const left = recordedTurn([answers('x', 150)], [said(2)], { ...history, end: 'cut' });
  const tried = recordedTurn([answers('x', 170, 30)], [said(9)], history);
  const fork = recordedTurn([answers('x', 190, 40)], [said(7)], history);
  const [main, other, ...more] = await importedFrom(fork, first, broken, left, tried);
  assert.ok(main && other && more.length === 0);
  assert.deepEqual(unlabelled(main.rollouts[0] as Rollout), {
    context_tokens: 50,
    turns: [
      { output_tokens: 0, calls: [call(10, 70, 30)] },
      { output_tokens: 9, calls: [] },
    ],
  });
  assert.deepEqual(unlabelled(other.rollouts[0] as Rollout), {
    context_tokens: 100,
    turns: [{ output_tokens: 7, calls: [] }],
  });
});

test('what came beside outputs was read with the last; an early output took no time; one that nobody gave has none', async () => {
  const first = recordedTurn([said(50)], [calls('x', 1), calls('y'), calls('z')]);
  const second = recordedTurn(
    [answers('x', 40), { kind: 'output', tokens: 1, call_id: 'z' }, said(5)],
    [said(9)],
  );
  const [session] = await importedFrom(first, second);
  assert.ok(session);
  assert.deepEqual(session.rollouts[0]?.turns[0]?.calls, [call(5, 0, 10), call(10, 0, 1), call(10, 0, 6)]);
  assert.equal(session.gaps.untimed, 2);
});

test('a rollout that was left before its end, and a context that was shortened, are played as far as they go', async () => {
  const first = recordedTurn([said(50)], [said(4), calls('x')]);
  const second = recordedTurn([answers('x', 130)], [calls('y', 7)], {
    compacted: true,
    history_items: 1,
    history_tokens: 3,
  });
  const [session] = await importedFrom(first, second);
  assert.ok(session);
  assert.deepEqual(session.rollouts.map(unlabelled), [
    { context_tokens: 50, turns: [{ output_tokens: 14, calls: [] }] },
    { context_tokens: 13, turns: [{ output_tokens: 7, calls: [] }] },
  ]);
  assert.deepEqual([session.gaps.unread, session.gaps.shrunk], [2, 1]);
});

test('reasoning that was counted and not shown is part of what was written, and free text is an input like any other', async () => {
  const first = recordedTurn(
    [said(2, 'Hi.')],
    [
      { kind: 'reasoning', tokens: 3 },
      { ...calls('x'), text: 'ls' },
    ],
    {
      reasoning_tokens: 40,
    },
  );
  const second = recordedTurn([{ ...answers('x', 100), text: 'etc' }], [said(1, 'Ah.')]);
  const [session] = await importedFrom(first, second);
  const [one, two] = session?.rollouts[0]?.turns ?? [];
  assert.equal(one?.output_tokens, 40);
  assert.equal(one.calls[0]?.arguments_text, '{"input":"ls"}');
  assert.equal(one.calls[0].arguments_tokens, await tokensOf('{"input":"ls"}'));
  assert.deepEqual(one.calls[0].output_text, { tokens: await tokensOf('etc'), text: 'etc' });
  assert.equal(two?.text?.text, 'Ah.');
});

test('a file that several servers went on with has the turns of each, on its own time', async () => {
  clock = 0;
  const before = [recordedTurn([said(5)], [calls('x')]), recordedTurn([answers('x', 160)], [said(1)])];
  clock = 0;
  const after = [recordedTurn([said(6)], [calls('x')]), recordedTurn([answers('x', 170)], [said(1)])];
  const text = lines(header, ...before, { type: 'dropped', turns: 3 }, header, ...after);
  const sessions = await sessionsIn('recording', text);
  assert.deepEqual(
    sessions.map(({ rollouts: [rollout] }) => rollout?.turns[0]?.calls[0]?.tool_ms),
    [60, 70],
  );
});

test('a recording that is none is refused with the line and the field', async () => {
  clock = 0;
  const whole = recordedTurn([said(5)], [said(1)]);
  assert.equal(
    await complaint(lines({ ...header, version: 2 }, whole)),
    'trace: line 1: version: expected 1',
  );
  assert.match(
    await complaint(lines(header, whole, { ...whole, handed_off_at_ms: 'soon' })),
    /^trace: line 3: handed_off_at_ms: expected number/,
  );
  assert.match(
    await complaint(lines(header, { ...whole, input: [{ kind: 'message', tokens: -1 }] })),
    /^trace: line 2: input\[0\]\.tokens: /,
  );
  assert.match(
    await complaint(lines(header)),
    /^trace: line 1: expected a turn that the model wrote before the file ends$/,
  );
  assert.match(
    await complaint(`${lines(header, whole)}{"type":"tu`),
    /^trace: line 3: expected one JSON object/,
  );
});
