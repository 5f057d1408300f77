/**
 * Records what a server's rollouts are like: sizes and times, and texts only where they are asked for. It looks on from
 * a stage after all others, and from between the engine and its sampler.
 *
 *   X1  Nothing of a credential, of metadata or of tools but their number and size is written.
 *   X2  A line is made when there is time, of transcripts that never change; a rollout waits for none.
 *   X3  A line that cannot be made or written is the recording's loss: no rollout hears of it.
 */
import type { LiveResponse, Sampler, SamplerEvent, Stage, Transcript, TurnRequest } from '../engine/index.js';
import { answeredCallId } from '../engine/calls.js';
import type { CreateRequest } from '../engine/protocol/requests.js';
import type { Passage, Preamble } from '../engine/stages.js';
import { Bounded } from '../engine/bounded.js';
import { seenEvents, SeenTurn } from './record-sampled.js';
import type { Lines, RecordedTurn } from './record-lines.js';
import { contentOf, inputOf, newInput, outputOf, preambleOf, writtenIn } from './record-turn.js';

/** Answered calls that are remembered, so that a history that repeats them is known as one. */
const answeredMax = 65_536;

export interface RecordOptions {
  readonly lines: Lines;
  /** Keeps what is said, too: messages, arguments and outputs. Default false. */
  readonly text?: boolean;
}

export interface RecorderParts extends RecordOptions {
  /** Milliseconds. */
  readonly now: () => number;
  /** The design that a Response is served in, by its id and credential. */
  readonly designOf: (responseId: string, credential: string) => string | null;
}

/** A Response under way. */
interface Draft {
  readonly responseId: string;
  readonly credential: string;
  readonly continues: string | null;
  readonly request: CreateRequest;
  readonly preamble: Preamble;
  /** When its create arrived. */
  readonly arrivedAt: number;
  /** When the answer to each call arrived in an append. */
  readonly arrivals: Map<string, number>;
  open: SeenTurn | null;
  /** Entries of the transcript that are not the next turn's input, for certain. */
  base: number;
  compacted: boolean;
  /** How much content the first entries have. */
  counted: { readonly length: number; readonly tokens: number };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #startedAt: number;
  readonly #arrivedAt = new WeakMap<Passage, number>();
  readonly #drafts = new Map<string, Draft>();
  readonly #answered = new Bounded<true>(answeredMax);

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#startedAt = parts.now();
  }

  /** The stages to run, and one after them that looks on. */
  stages(stages: readonly Stage[]): Stage[] {
    return [
      ...stages.map((stage) => this.#timed(stage)),
      {
        name: 'record',
        phases: ['pre', 'append', 'post'],
        reads: 'new',
        refuses: false,
        critical: true,
        run: (passage) => this.#passed(passage),
      },
    ];
  }

  /** To be called once per settled Response. */
  settled(response: LiveResponse): void {
    const draft = this.#drafts.get(response.id);
    if (draft === undefined) return;
    this.#drafts.delete(response.id);
    this.#close(draft, response.kept.transcript);
  }

  #now(): number {
    return this.#parts.now() - this.#startedAt;
  }

  /** A passage arrives when its first stage begins, whichever that is. */
  #timed(stage: Stage): Stage {
    return {
      ...stage,
      run: (passage, items) => {
        if (!this.#arrivedAt.has(passage)) this.#arrivedAt.set(passage, this.#now());
        return stage.run(passage, items);
      },
    };
  }

  #passed(passage: Passage): void {
    if (passage.phase === 'pre') this.#begin(passage);
    const draft = this.#drafts.get(passage.responseId);
    if (draft === undefined) return;
    if (passage.phase === 'post' && draft.open !== null) draft.open.handedOffAt ??= this.#now();
    if (passage.phase !== 'append') return;
    const arrivedAt = this.#arrivedAt.get(passage) ?? this.#now();
    for (const item of passage.newItems) {
      const callId = answeredCallId(item);
      if (callId !== null && !draft.arrivals.has(callId)) draft.arrivals.set(callId, arrivedAt);
    }
  }

  #begin(passage: Passage): void {
    const { responseId, credential, kept, request, preamble, transcript, sampler } = passage;
    if (sampler === null) return;
    passage.sampler = this.#watched(sampler, {
      responseId,
      credential,
      continues: kept?.responseId ?? null,
      request,
      preamble,
      arrivedAt: this.#arrivedAt.get(passage) ?? this.#now(),
      arrivals: new Map(),
      open: null,
      base: transcript.length,
      compacted: false,
      counted: { length: 0, tokens: 0 },
    });
  }

  #watched(sampler: Sampler, draft: Draft): Sampler {
    return {
      contextTokensMax: sampler.contextTokensMax,
      open: (opening) => {
        const session = sampler.open(opening);
        this.#drafts.set(draft.responseId, draft); // From here on it settles.
        return {
          sample: (turn, signal) => this.#sampled(draft, turn, session.sample(turn, signal), signal),
          suspend: () => {
            if (draft.open !== null) draft.open.handedOffAt = this.#now();
            session.suspend();
          },
          release: () => session.release(),
        };
      },
    };
  }

  #sampled(
    draft: Draft,
    { turn, context }: TurnRequest,
    events: AsyncIterable<SamplerEvent>,
    signal: AbortSignal,
  ): AsyncIterable<SamplerEvent> {
    this.#close(draft, context.transcript);
    const seen = new SeenTurn(turn, context.transcript, context.tokens, this.#now());
    draft.open = seen;
    return seenEvents(events, seen, signal, () => this.#now());
  }

  /** What came of a turn is known when the next one begins, or at the end. */
  #close(draft: Draft, after: Transcript): void {
    const seen = draft.open;
    draft.open = null;
    if (seen !== null) this.#parts.lines.add(() => this.#line(draft, seen, after));
  }

  #line(draft: Draft, seen: SeenTurn, after: Transcript): RecordedTurn {
    const { text: withText = false, designOf } = this.#parts;
    const { responseId, credential, request, base, compacted } = draft;
    const before = seen.transcript;
    const known = (callId: string) => this.#answered.get(`${credential} ${callId}`) === true;
    const brought = newInput(before, base, known);
    const input = inputOf(before, brought, {
      withText,
      arrivedAt: (callId) => this.#arrival(draft, seen, callId),
    });
    for (const { call_id } of input)
      if (call_id !== undefined) this.#answered.set(`${credential} ${call_id}`, true);
    const contextTokens = this.#contentOf(draft, before);
    const { from, to, shortened } = writtenIn(after, before);
    const endedAt = seen.endedAt ?? this.#now();
    draft.base = to;
    draft.compacted = shortened;
    if (shortened) draft.counted = { length: 0, tokens: 0 };
    return {
      type: 'turn',
      response_id: responseId,
      turn: seen.turn,
      design: designOf(responseId, credential),
      model: request.model,
      continues: draft.continues,
      ...preambleOf(request, draft.preamble),
      history_items: before.length - brought.length,
      history_tokens: contextTokens - input.reduce((sum, { tokens }) => sum + tokens, 0),
      ...(compacted ? { compacted } : {}),
      input,
      output: outputOf(after, from, to, withText),
      output_tokens: seen.output,
      reasoning_tokens: seen.reasoning,
      held_tokens: seen.held,
      read_tokens: seen.read,
      started_at_ms: rounded(seen.startedAt),
      first_token_ms: seen.firstTokenAt === null ? null : rounded(seen.firstTokenAt - seen.startedAt),
      decode_tokens_per_second:
        seen.decodeTokensPerSecond === null ? null : rounded(seen.decodeTokensPerSecond),
      ended_at_ms: rounded(endedAt),
      handed_off_at_ms: rounded(seen.handedOffAt ?? endedAt),
      end: seen.end,
    };
  }

  /** A create brings all its answers at once; in an append each has its time. */
  #arrival(draft: Draft, seen: SeenTurn, callId: string): number | undefined {
    const at = draft.arrivals.get(callId) ?? (seen.turn === 1 ? draft.arrivedAt : undefined);
    return at === undefined ? undefined : rounded(at);
  }

  /** Counted on from where the turn before left off. */
  #contentOf(draft: Draft, transcript: Transcript): number {
    const { length, tokens } = draft.counted;
    const sum = tokens + contentOf(transcript, length);
    draft.counted = { length: transcript.length, tokens: sum };
    return sum;
  }
}
