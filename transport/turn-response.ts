/**
 * One response of a per-turn design: a window of its rollout's log and, once it has ended, what a later create goes on
 * from. It holds no log: the rollout is found by its id for as long as the engine keeps it.
 */
import {
  VirtualResponse,
  type Item,
  type Kept,
  type LiveResponse,
  type ResponseObject,
} from '../engine/index.js';
import { answeredCallId } from '../engine/calls.js';
import { broughtItems } from '../engine/response-object.js';
import type { Entry } from '../engine/transcript.js';
import { WindowView, type WindowShown } from './view.js';

export interface Window {
  /** Number of its first log entry. */
  readonly first: number;
  /** Output items of the log before it. */
  readonly outputItems: number;
  /** Entries of the transcript before its own input. */
  readonly inputFrom: number;
  /** Calls of its turn that its client has answered before it began. */
  readonly answered?: ReadonlySet<string>;
}

/** Of a rollout that begins with its response: what stands before is `response.created` and `response.in_progress`. */
export function fromStart(kept: Kept | null): Window {
  return { first: 2, outputItems: 0, inputFrom: kept?.transcript.length ?? 0 };
}

export interface ViewOptions extends Partial<WindowShown> {
  readonly unixSeconds: () => number;
}

export class TurnResponse {
  readonly credential: string;
  readonly rolloutId: string;
  /** The lane it was created on; null for the default lane and for HTTP. */
  readonly lane: string | null;
  /** As its newest whole event shows it. */
  snapshot: ResponseObject;
  /** What a create that names it continues from; null while it runs. */
  kept: Kept | null = null;
  /** The turn whose hand-off ended it; null where the rollout ended with it. */
  turn: number | null = null;
  /** Its client has deleted it: nothing may be continued from it. */
  deleted = false;
  /** Output items of the rollout through it. */
  outputItemsAfter = 0;
  readonly #created: ResponseObject;
  readonly #window: Window;

  constructor(rollout: LiveResponse, created: ResponseObject, window: Window, lane: string | null) {
    this.credential = rollout.credential;
    this.rolloutId = rollout.id;
    this.lane = lane;
    this.snapshot = created;
    this.#created = created;
    this.#window = window;
  }

  get id(): string {
    return this.#created.id;
  }

  /** Whether it can be named on another connection. */
  get stored(): boolean {
    return this.#created.store;
  }

  /** What its create brought, whoever wrote it. Empty while it runs. */
  get inputItems(): readonly Item[] {
    const items = this.kept?.transcript.items(this.#window.inputFrom) ?? [];
    return broughtItems(items, this.snapshot.output);
  }

  /** What a reader is shown, from its first event on. */
  view(rollout: LiveResponse, options: ViewOptions): WindowView {
    const { unixSeconds, ...shown } = options;
    const window = new VirtualResponse(this.#created, { ...this.#window, unixSeconds });
    const all = { lane: this.lane, after: -1, faultFirst: false };
    return new WindowView(rollout, this.#window.first, window, { ...all, ...shown });
  }

  /** It has been shown to its end. */
  end({ response, window }: WindowView): void {
    this.snapshot = window.snapshot;
    this.turn = window.handedOff;
    const handOff = response.handOffs.findLast(({ turn }) => turn === this.turn);
    this.outputItemsAfter = handOff?.outputItems ?? 0;
    if (this.turn === null) this.kept = response.kept;
    else this.kept = handOff === undefined ? null : withAnswers(handOff.kept, window, response);
  }
}

/** What was kept at a hand-off, with the answers that were given before it and that no client will give again. */
function withAnswers(kept: Kept, window: VirtualResponse, response: LiveResponse): Kept {
  const owed = kept.owed.filter((callId) => window.owes(callId));
  if (owed.length === kept.owed.length) return kept;
  const given = new Map<string, Entry>();
  // After an early end what was received stands in the transcript and in the ledger.
  for (const entry of [...response.kept.transcript.entries(kept.transcript.length), ...response.received]) {
    const callId = answeredCallId(entry.item);
    if (callId !== null && kept.owed.includes(callId) && !window.owes(callId)) given.set(callId, entry);
  }
  return { ...kept, transcript: kept.transcript.extend([...given.values()]), owed };
}
