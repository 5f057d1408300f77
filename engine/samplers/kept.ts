/**
 * What a sampler has kept of its conversations: how far each was read, and not the tokens themselves.
 *
 * A conversation is marked when a turn has read its context. At its next turn all up to the mark is held, and so are
 * the items sampled after it, which the model wrote itself; what a client added since is to be read.
 *
 *   E1  A mark counts only where the transcript has as many tokens up to it as when it was set, and the preamble is the
 *       same. So a fork is held up to where it left the line, and other instructions or tools hold nothing.
 *   E2  A conversation is forgotten `ttlMs` after its last use, and the one used longest ago where there are too many.
 */
import { Bounded } from '../bounded.js';
import { isSampled } from '../protocol/items.js';
import type { Transcript } from '../transcript.js';
import type { Context } from './sampler.js';

interface Mark {
  readonly entries: number;
  readonly tokens: number;
}

/** Marks of one conversation; a fork from before the oldest is read from its start. */
const marksMax = 256;

interface Conversation {
  readonly preamble: number;
  readonly marks: Mark[];
  usedAt: number;
}

/** FNV-1a over 32-bit tokens, worked out once for each array, because a rollout renders its preamble once. */
const hashes = new WeakMap<Uint32Array, number>();

function hashOf(tokens: Uint32Array): number {
  const known = hashes.get(tokens);
  if (known !== undefined) return known;
  let hash = 0x811c9dc5;
  for (const token of tokens) hash = Math.imul(hash ^ token, 0x01000193);
  hashes.set(tokens, hash);
  return hash;
}

function isOnLine(transcript: Transcript, { entries, tokens }: Mark): boolean {
  return entries <= transcript.length && transcript.prefix(entries).tokens === tokens;
}

/** Entries up to the first, at or after `from`, that a model did not write. */
function sampledThrough(transcript: Transcript, from: number): number {
  let length = from;
  while (length < transcript.length && isSampled(transcript.at(length).item)) length++;
  return length;
}

export interface KeptOptions {
  /** How long a conversation is kept after its last use. */
  readonly ttlMs: number;
  readonly conversationsMax: number;
  readonly now: () => number;
}

export class KeptContexts {
  /** In order of last use (E2). */
  readonly #conversations: Bounded<Conversation>;
  readonly #options: KeptOptions;

  constructor(options: KeptOptions) {
    this.#options = options;
    this.#conversations = new Bounded(options.conversationsMax);
  }

  /** Tokens of the context that are held. */
  held(name: string, { preamble, transcript }: Context): number {
    const kept = this.#find(name);
    if (kept === undefined || kept.preamble !== hashOf(preamble)) return 0;
    const mark = kept.marks.findLast((candidate) => isOnLine(transcript, candidate));
    if (mark === undefined) return preamble.length;
    return preamble.length + transcript.prefix(sampledThrough(transcript, mark.entries)).tokens;
  }

  /** Marks that the whole context was read. Marks that are not on its line are given up. */
  keep(name: string, { preamble, transcript }: Context): void {
    const hash = hashOf(preamble);
    const known = this.#find(name);
    const marks = known?.preamble === hash ? known.marks : [];
    marks.length = marks.findLastIndex((mark) => isOnLine(transcript, mark)) + 1;
    if (marks.at(-1)?.entries !== transcript.length)
      marks.push({ entries: transcript.length, tokens: transcript.tokens });
    if (marks.length > marksMax) marks.shift();
    this.#use(name, { preamble: hash, marks, usedAt: 0 });
  }

  /** The time to live runs from now (E2). */
  touch(name: string): void {
    const kept = this.#conversations.get(name);
    if (kept !== undefined) this.#use(name, kept);
  }

  #use(name: string, conversation: Conversation): void {
    conversation.usedAt = this.#options.now();
    this.#conversations.set(name, conversation);
  }

  #find(name: string): Conversation | undefined {
    const kept = this.#conversations.get(name);
    if (kept === undefined || this.#options.now() - kept.usedAt < this.#options.ttlMs) return kept;
    this.#conversations.delete(name);
    return undefined;
  }
}
