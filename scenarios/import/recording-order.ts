/** Which recorded turns follow which: the conversations of a recording. */
import type { RecordedTurn } from './schema.js';

const endRanks: Readonly<Record<RecordedTurn['end'], number>> = { done: 0, cut: 1, failed: 2 };

/** Items of the context through the end of a turn. */
function itemsThrough({ history_items, input, output }: RecordedTurn): number {
  return history_items + input.length + output.length;
}

/** Finds what a turn follows. */
class Turns {
  readonly #byCall = new Map<string, RecordedTurn>();
  readonly #byResponse = new Map<string, RecordedTurn[]>();

  constructor(turns: readonly RecordedTurn[]) {
    for (const turn of turns) {
      for (const { kind, call_id } of turn.output)
        if (kind === 'call' && call_id !== undefined) this.#byCall.set(call_id, turn);
      const known = this.#byResponse.get(turn.response_id);
      if (known === undefined) this.#byResponse.set(turn.response_id, [turn]);
      else known.push(turn);
    }
  }

  /** The turn whose calls it answers; else the one before it in its Response, or at which its Response goes on. */
  before(turn: RecordedTurn): RecordedTurn | null {
    for (const { kind, call_id } of turn.input) {
      const called = kind === 'output' ? this.#byCall.get(call_id ?? '') : undefined;
      if (called !== undefined && called !== turn) return called;
    }
    const own = this.#byResponse.get(turn.response_id) ?? [];
    const place = own.indexOf(turn);
    if (place > 0) return own[place - 1] ?? null;
    const continued = this.#byResponse.get(turn.continues ?? '') ?? [];
    // A rollout can be continued from any of its hand-offs.
    return continued.find((each) => itemsThrough(each) === turn.history_items) ?? continued.at(-1) ?? null;
  }
}

function compare(left: RecordedTurn, right: RecordedTurn): number {
  return endRanks[left.end] - endRanks[right.end] || left.started_at_ms - right.started_at_ms;
}

/** What a turn is followed by: the first that was done goes on, others that were done are conversations of their own. */
function follow(first: RecordedTurn, followers: ReadonlyMap<RecordedTurn, RecordedTurn[]>): RecordedTurn[][] {
  const conversations: RecordedTurn[][] = [];
  const open = [first];
  for (let begin = open.pop(); begin !== undefined; begin = open.pop()) {
    const turns: RecordedTurn[] = [];
    for (let turn: RecordedTurn | undefined = begin; turn !== undefined;) {
      turns.push(turn);
      const [main, ...others]: RecordedTurn[] = (followers.get(turn) ?? []).toSorted(compare);
      open.push(...others.filter(({ end }) => end === 'done').toReversed());
      turn = main?.end === 'failed' ? undefined : main;
    }
    conversations.push(turns);
  }
  return conversations;
}

function conversationsIn(run: readonly RecordedTurn[]): RecordedTurn[][] {
  const ordered = run.toSorted((left, right) => left.started_at_ms - right.started_at_ms);
  const turns = new Turns(ordered);
  const followers = new Map<RecordedTurn, RecordedTurn[]>();
  const firsts: RecordedTurn[] = [];
  for (const turn of ordered) {
    const before = turns.before(turn);
    if (before === null) firsts.push(turn);
    else followers.set(before, [...(followers.get(before) ?? []), turn]);
  }
  return firsts.filter(({ end }) => end !== 'failed').flatMap((first) => follow(first, followers));
}

/** The conversations of each run of a server, turn by turn. A turn that failed, and was tried again or not, is left out. */
export function conversationsOf(runs: readonly (readonly RecordedTurn[])[]): RecordedTurn[][] {
  return runs.flatMap(conversationsIn);
}
