/**
 * 20,000 suspended rollouts in one process: what each one costs, and that every one of them still ends as it should.
 * Real: engine, stages, tokeniser. Simulated: an instant model; 1,000 tokens of context each, no sockets, no tools.
 */
import { Engine, MemoryStore, scriptedSampler, systemClock, type LiveResponse } from '../../engine/index.js';
import { generatorFor, wordText } from '../../scenarios/index.js';
import { memoryNow, transcriptBytes } from './memory.js';

export interface SuspendedOptions {
  /** Default 20,000. */
  readonly rollouts?: number;
  /** Context of each, in tokens. Default 1,000. */
  readonly contextTokens?: number;
  readonly onProgress?: (line: string) => void;
}

export interface SuspendedResult {
  readonly rollouts: number;
  readonly context_tokens: number;
  /** Per rollout, in bytes. */
  readonly resident: number;
  readonly transcript: number;
  /** Resident beyond the transcript, the log counted: the bound is 12 KiB. */
  readonly beyond_transcript: number;
  readonly log: number;
  readonly settled: number;
  readonly post_runs: number;
  readonly billed: number;
}

export const beyondTranscriptMax = 12 * 1024;

function twoTurns() {
  return [
    { items: [{ type: 'function_call' as const, name: 'run', arguments: '{"command":"ls"}' }] },
    { items: [{ type: 'message' as const, text: 'done' }] },
  ];
}

async function suspend(engine: Engine, index: number, contextTokens: number): Promise<LiveResponse> {
  const input = wordText(contextTokens, generatorFor('suspended', index)).text;
  const response = await engine.create({ model: 'suspended', input });
  for await (const event of response) if (event.type === 'response.done') break;
  return response;
}

/** The mean over a sample of copies. */
function meanTranscriptBytes(responses: readonly LiveResponse[]): number {
  const sample = responses.slice(0, 2_000);
  return (
    transcriptBytes(sample.map((response) => ({ transcript: response.kept.transcript }))) / sample.length
  );
}

export async function run(options: SuspendedOptions = {}): Promise<SuspendedResult> {
  const { rollouts = 20_000, contextTokens = 1_000, onProgress } = options;
  const store = new MemoryStore({ responsesMax: 1 });
  await using engine = new Engine({
    sampler: scriptedSampler({ clock: systemClock, script: twoTurns() }),
    store,
    limits: { endedResponsesMax: 10 },
  });
  // A few hundred first, so that compiled code and warm caches are not counted as theirs.
  for (let index = 0; index < 300; index++)
    await (await suspend(engine, -1 - index, contextTokens))[Symbol.asyncDispose]();
  const before = memoryNow();
  const postBefore = engine.stageRuns['post.bill']?.runs ?? 0;
  const billedBefore = store.billed.count;
  const responses: LiveResponse[] = [];
  for (let index = 0; index < rollouts; index++) {
    responses.push(await suspend(engine, index, contextTokens));
    if ((index + 1) % 5_000 === 0) onProgress?.(`${index + 1} of ${rollouts} suspended`);
  }
  const after = memoryNow();
  const transcript = meanTranscriptBytes(responses);
  const resident = (after.rss - before.rss) / rollouts;
  const log = responses.reduce((sum, response) => sum + response.logBytes, 0) / rollouts;
  const settled = await answerAll(responses);
  return {
    rollouts,
    context_tokens: contextTokens,
    resident,
    transcript,
    beyond_transcript: resident - transcript,
    log,
    settled,
    post_runs: (engine.stageRuns['post.bill']?.runs ?? 0) - postBefore,
    billed: store.billed.count - billedBefore,
  };
}

async function answerAll(responses: readonly LiveResponse[]): Promise<number> {
  let completed = 0;
  for (const response of responses) {
    await response.append(
      response.requiredInput.map(({ type, call_id }) => ({ type, call_id, output: 'ok' })),
    );
    const { outcome } = await response.settled;
    if (outcome.status === 'completed') completed++;
  }
  return completed;
}

export function print(result: SuspendedResult): string {
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(2)} KiB`;
  return [
    `${result.rollouts} suspended rollouts of ${result.context_tokens} tokens, no sockets, after full collections:`,
    `  resident ${kib(result.resident)} each, of it transcript ${kib(result.transcript)} (mean of copies), beyond it ${kib(result.beyond_transcript)} (the log's own estimate: ${kib(result.log)})`,
    `  at most ${kib(beyondTranscriptMax)} beyond the transcript: ${result.beyond_transcript <= beyondTranscriptMax ? 'yes' : 'NO'}`,
    `  then all answered: ${result.settled} completed, post-inference ran ${result.post_runs} times, ${result.billed} bills`,
  ].join('\n');
}
