/** What a client sees of a rollout in virtual time: it counts and takes times, and decides when it can go on. */
import type { Item, LogEntry, TurnUsage } from '../../engine/index.js';
import type { Turn as PlannedTurn } from '../../scenarios/index.js';
import type { MeasuredTurn } from '../measure.js';
import { itemBytes } from './bytes.js';
import { bytesPerToken, countedText } from './counted.js';

export type VirtualTurn = Omit<MeasuredTurn, 'bytes_down'>;

/** An output and the time at the client at which its tool is done. */
export interface Output {
  readonly item: Item;
  readonly tokens: number;
  readonly bytes: number;
  readonly doneAt: number;
}

interface Turn {
  readyAt: number;
  firstEventAt: number;
  firstTokenAt: number;
  lastTokenAt: number;
  endedAt: number;
  bytesUp: number;
  readonly outputs: Output[];
  /** What it took, from the entry that ended it. */
  usage: TurnUsage | null;
}

const noTime = -1;

function turnFrom(readyAt: number): Turn {
  return {
    readyAt,
    firstEventAt: noTime,
    firstTokenAt: noTime,
    lastTokenAt: noTime,
    endedAt: noTime,
    bytesUp: 0,
    outputs: [],
    usage: null,
  };
}

/** A call as this client has to send it back. */
function isNamed(item: object): item is { call_id: string; name: string; arguments: string } {
  return ['call_id', 'name', 'arguments'].every(
    (field) => typeof Object.getOwnPropertyDescriptor(item, field)?.value === 'string',
  );
}

export interface VirtualClientParts {
  readonly turns: readonly PlannedTurn[];
  readonly toolScale: number;
  /** See `MachineCosts`. */
  readonly turnEndMs: number;
  readonly prefillTokensPerSecond: number;
}

export class VirtualClient {
  readonly turns: VirtualTurn[] = [];
  /** Everything so far, as a client that sends its whole history would send it, and the bytes of that. */
  readonly history: object[] = [];
  historyBytes = 0;
  historyTokens = 0;
  /** Slowest tool of each turn, added up: as waited for, and as it truly takes. */
  toolMs = 0;
  trueToolMs = 0;
  readonly #parts: VirtualClientParts;
  #turn = turnFrom(0);
  #startedAt = 0;

  constructor(parts: VirtualClientParts) {
    this.#parts = parts;
  }

  get turn(): Readonly<Turn> {
    return this.#turn;
  }

  get #turnEndMs(): number {
    return this.turns.length === 0 ? 0 : this.#parts.turnEndMs;
  }

  /** Remembers what went up; `bytes` are those of the item in a request. */
  sent(item: object, tokens: number, bytes: number): void {
    this.history.push(item);
    this.historyTokens += tokens;
    this.historyBytes += bytes;
  }

  /** A turn begins: everything it needs was there at `readyAt`. */
  begin(readyAt: number, bytesUp: number): void {
    if (this.turns.length === 0) this.#startedAt = readyAt;
    this.#turn = turnFrom(readyAt);
    this.#turn.bytesUp = bytesUp;
  }

  uploaded(bytes: number): void {
    this.#turn.bytesUp += bytes;
  }

  /** Takes an entry that has arrived at `at`. Gives the output of the call that it ends, if it ends one. */
  saw(entry: LogEntry, at: number): Output | null {
    const turn = this.#turn;
    if (turn.firstEventAt === noTime) turn.firstEventAt = at;
    if ('delta' in entry) {
      if (turn.firstTokenAt === noTime) turn.firstTokenAt = at;
      turn.lastTokenAt = at;
    }
    return entry.type === 'response.output_item.done'
      ? this.#itemDone(entry.item, at + this.#turnEndMs)
      : null;
  }

  /** The turn has been handed off, or was the last. Gives the time at which all is there that the next one needs. */
  end(usage: TurnUsage, at: number): number {
    const turn = this.#turn;
    turn.endedAt = turn.outputs.length > 0 ? at + this.#turnEndMs : at;
    turn.usage = usage;
    this.turns.push(this.#measured(turn, usage));
    const calls = this.#parts.turns[this.turns.length - 1]?.calls ?? [];
    const slowestMs = Math.max(0, ...calls.map(({ tool_ms }) => tool_ms));
    this.trueToolMs += slowestMs;
    this.toolMs += slowestMs * this.#parts.toolScale;
    return Math.max(turn.endedAt, ...turn.outputs.map(({ doneAt }) => doneAt));
  }

  #itemDone(
    item: Extract<LogEntry, { type: 'response.output_item.done' }>['item'],
    at: number,
  ): Output | null {
    const planned = this.#parts.turns[this.turns.length];
    if (planned === undefined) return null;
    if (item.type === 'compaction') {
      this.#compacted(item);
      return null;
    }
    if (item.type === 'message') {
      const tokens = planned.output_tokens;
      this.sent(
        { type: 'message', role: 'assistant', content: countedText(tokens) },
        tokens,
        itemBytes.message(tokens),
      );
      return null;
    }
    if (item.type !== 'function_call' || !isNamed(item)) return null;
    const call = planned.calls[this.#turn.outputs.length];
    if (call === undefined) return null;
    const { call_id, name, arguments: text } = item;
    this.sent(
      { type: 'function_call', call_id, name, arguments: text },
      call.arguments_tokens,
      itemBytes.call(call.arguments_tokens),
    );
    const output: Output = {
      item: { type: 'function_call_output', call_id, output: countedText(call.output_tokens) },
      tokens: call.output_tokens,
      bytes: itemBytes.output(call.output_tokens),
      doneAt: at + call.tool_ms * this.#parts.toolScale,
    };
    this.#turn.outputs.push(output);
    return output;
  }

  /** It stands for everything before it, which a client drops. */
  #compacted(item: object): void {
    this.history.length = 0;
    this.historyTokens = 0;
    this.historyBytes = 0;
    const { length } = JSON.stringify(item);
    this.sent(item, Math.ceil(length / bytesPerToken), length);
  }

  #measured(turn: Turn, { held, read, output }: TurnUsage): VirtualTurn {
    const since = (at: number): number => at - turn.readyAt;
    const injected = (read / this.#parts.prefillTokensPerSecond) * 1000;
    return {
      turn: this.turns.length + 1,
      ready_ms: turn.readyAt - this.#startedAt,
      first_event_ms: since(turn.firstEventAt),
      first_token_ms: since(turn.firstTokenAt),
      last_token_ms: since(turn.lastTokenAt),
      overhead_ms: since(turn.firstTokenAt) - injected,
      ms: since(turn.endedAt),
      input_tokens: held + read,
      cached_tokens: held,
      output_tokens: output,
      bytes_up: turn.bytesUp,
    };
  }
}
