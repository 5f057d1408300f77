/** The lines of a recording, as RECORDING.md tells of them. Times are milliseconds since `started_at` of the header. */

export const recordingFormat = 'long-response-recording';
export const recordingVersion = 1;

/** The first line, and the first of each server that went on with the same file. */
export interface RecordingHeader {
  readonly format: typeof recordingFormat;
  readonly version: typeof recordingVersion;
  /** ISO 8601. */
  readonly started_at: string;
  /** Whether texts are kept. */
  readonly text: boolean;
}

/** What a client brought for a turn. Tokens are those of the content, without what frames an item. */
export interface RecordedInput {
  readonly kind: 'message' | 'output';
  readonly tokens: number;
  /** Of an output: the call it answers. */
  readonly call_id?: string;
  /** Of an output: when it arrived, before any work was done on it. None where the engine wrote it for nobody. */
  readonly at_ms?: number;
  readonly text?: string;
}

/** What the model wrote in a turn. */
export interface RecordedOutput {
  readonly kind: 'message' | 'reasoning' | 'call' | 'other';
  readonly tokens: number;
  /** Of a call that the client has to answer. */
  readonly call_id?: string;
  readonly text?: string;
}

/** One turn, in whatever design. */
export interface RecordedTurn {
  readonly type: 'turn';
  /** The engine's Response: one for the rollout in append and shim, one a turn in chain and replay. */
  readonly response_id: string;
  /** From 1, within the Response. */
  readonly turn: number;
  readonly design: string | null;
  readonly model: string;
  /** The Response whose transcript this one went on with. */
  readonly continues: string | null;
  readonly instructions_tokens: number;
  readonly tools_count: number;
  /** Of the tools array as JSON. */
  readonly tools_bytes: number;
  readonly tools_tokens: number;
  /** What stood in the context before the input: items, and the tokens of their content. */
  readonly history_items: number;
  readonly history_tokens: number;
  /** The context was shortened before this turn. */
  readonly compacted?: true;
  readonly input: readonly RecordedInput[];
  readonly output: readonly RecordedOutput[];
  /** By the model's own count, reasoning included. */
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  /** Of the whole context, preamble and frames included: what the model held, and what it read. */
  readonly held_tokens: number;
  readonly read_tokens: number;
  /** When the model was asked. */
  readonly started_at_ms: number;
  /** From there to its first token; null where it wrote none. */
  readonly first_token_ms: number | null;
  /** Over the tokens after those that came first; null where they took no time. */
  readonly decode_tokens_per_second: number | null;
  /** When the model was done. */
  readonly ended_at_ms: number;
  /** When the client could know: after post-inference where the Response ended here. */
  readonly handed_off_at_ms: number;
  /** `cut`: at a bound, by a steer or a cancel, or because the client left. */
  readonly end: 'done' | 'cut' | 'failed';
}

/** In place of turns that came faster than the disk took them. */
export interface RecordedGap {
  readonly type: 'dropped';
  readonly turns: number;
}

/** Takes lines, and makes them when it has time: a rollout never waits for one. */
export interface Lines {
  add(line: () => RecordedTurn): void;
}
