/** What a rollout was at, and when, for a trace of it. */
import type { TurnUsage } from '../../engine/index.js';
import { downloadMs } from '../network/model.js';
import type { Work } from '../service/stage.js';
import type { VirtualCell } from './cell.js';

/** Who was at it. What is `overlapped` holds nothing up. */
export type Lane = 'client' | 'network' | 'service' | 'overlapped' | 'model';

export interface Span {
  /** `upload`, `download`, `tools`, `admission`, `prefill`, `decode`, `machine`, or a piece of work of the service. */
  readonly name: string;
  readonly lane: Lane;
  /** From 1. */
  readonly turn: number;
  /** Milliseconds since the rollout began. */
  readonly start_ms: number;
  readonly ms: number;
}

/** What a client knows of a turn, on the rollout's clock; −1 where it has not come to that. */
interface Seen {
  readonly firstTokenAt: number;
  readonly lastTokenAt: number;
  readonly endedAt: number;
}

/** Below this a span is a rounding error of the clock. */
const shortestMs = 1e-6;

export class Spans {
  readonly #spans: Span[] = [];
  /** Where the last piece of work of a passage ends, by what they share: they run one after the other. */
  #workEnd = { at: -1, end: -1 };

  get list(): readonly Span[] {
    return this.#spans;
  }

  add(name: string, lane: Lane, turn: number, from: number, to: number): void {
    if (to - from > shortestMs) this.#spans.push({ name, lane, turn, start_ms: from, ms: to - from });
  }

  /** The same, joined with what the turn has of that name: tools, and what they send, run side by side. */
  join(name: string, lane: Lane, turn: number, from: number, to: number): void {
    const index = this.#spans.findLastIndex((one) => one.name === name && one.turn === turn);
    const there = this.#spans[index];
    if (there === undefined) return this.add(name, lane, turn, from, to);
    const start = Math.min(there.start_ms, from);
    const end = Math.max(there.start_ms + there.ms, to);
    this.#spans[index] = { ...there, start_ms: start, ms: end - start };
  }

  /** A piece of work of a passage that began at `at`. What follows inference may begin when the client has its turn. */
  work(work: Work, client: { turns: readonly unknown[]; turn: Seen }, at: number): void {
    const { module, obligation, phase, waited_ms, cpu_ms } = work;
    const turn = client.turns.length + (phase === 'post' && client.turn.firstTokenAt < 0 ? 0 : 1);
    const from = this.#workEnd.at === at ? this.#workEnd.end : at;
    this.#workEnd = { at, end: from + waited_ms + cpu_ms };
    this.add(module, obligation === 'overlapped' ? 'overlapped' : 'service', turn, from, this.#workEnd.end);
  }

  /** What the model did in a turn, and the last event's way down. Between arrival or work and prefill lies admission. */
  turn(
    turn: number,
    seen: Seen,
    usage: TurnUsage,
    { network, prefillTokensPerSecond }: Pick<VirtualCell, 'network' | 'prefillTokensPerSecond'>,
  ): void {
    const downMs = downloadMs(network);
    const firstAt = seen.firstTokenAt - downMs;
    const readFrom = firstAt - (usage.read / prefillTokensPerSecond) * 1000;
    const before = this.#spans
      .filter((one) => one.turn === turn && (one.lane === 'network' || one.lane === 'service'))
      .map(({ start_ms, ms }) => start_ms + ms)
      .filter((end) => end <= readFrom + shortestMs);
    if (before.length > 0) this.add('admission', 'model', turn, Math.max(...before), readFrom);
    this.add('prefill', 'model', turn, readFrom, firstAt);
    this.add('decode', 'model', turn, firstAt, seen.lastTokenAt - downMs);
    this.add('download', 'network', turn, seen.endedAt - downMs, seen.endedAt);
  }
}
