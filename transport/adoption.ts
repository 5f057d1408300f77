/**
 * How a history that is sent in full finds the rollout it belongs to: by the calls in it, or, before there was any, by
 * its `prompt_cache_key`. Only an index: whether the history is that rollout's is found out item by item.
 */
import { ProtocolError, type LiveResponse, type Overlap, type ResponseObject } from '../engine/index.js';
import { answeredCallId, openedCallId } from '../engine/calls.js';
import { Bounded } from '../engine/bounded.js';
import type { TurnResponse, Window } from './turn-response.js';

/** What the shim knows of a rollout beyond the engine. */
export interface Adoptable {
  readonly rollout: LiveResponse;
  /** As it was created: what the responses of all its turns have in common. */
  readonly created: ResponseObject;
  readonly settings: string;
  /** Id of the response it continued from, or null. */
  readonly parentId: string | null;
  /** Entries of its transcript before its own input. */
  readonly from: number;
  /** Its newest response, over whichever connection. */
  newest: TurnResponse | null;
  /** That response was not shown to its end. */
  left: boolean;
  /** It was, but its connection broke before its client said another word: whether the end arrived is not known. */
  uncertain: boolean;
  /** Until when, on the clock, its client may come back for what it lacks, if either is true. */
  until: number;
  /** A create that resumes it is on its way. */
  resuming: boolean;
}

export class Adoption {
  /** Weak, so that the index keeps nothing alive. */
  readonly #byKey: Bounded<WeakRef<Adoptable>>;
  readonly #known = new WeakMap<LiveResponse, Adoptable>();

  /** @param max call ids and cache keys, over all rollouts; the oldest go first. */
  constructor(max: number) {
    this.#byKey = new Bounded(max);
  }

  begun(adoptable: Adoptable, cacheKey: unknown): void {
    this.#known.set(adoptable.rollout, adoptable);
    if (typeof cacheKey === 'string') this.#set(adoptable, `key ${cacheKey}`);
  }

  of(rollout: LiveResponse): Adoptable | null {
    return this.#known.get(rollout) ?? null;
  }

  /** A client has been shown these calls. */
  shown(rollout: LiveResponse, callIds: Iterable<string>): void {
    const adoptable = this.#known.get(rollout);
    if (adoptable !== undefined) for (const callId of callIds) this.#set(adoptable, `call ${callId}`);
  }

  /** The rollouts that a history may belong to, the likelier first: that of its newest call, and the key's newest. */
  find(credential: string, items: readonly unknown[], cacheKey: unknown): ReadonlySet<Adoptable> {
    const found = new Set<Adoptable>();
    for (let index = items.length - 1; index >= 0 && found.size === 0; index--) {
      const callId = callIdIn(items[index]);
      if (callId !== null) this.#add(found, credential, `call ${callId}`);
    }
    if (typeof cacheKey === 'string') this.#add(found, credential, `key ${cacheKey}`);
    return found;
  }

  #add(found: Set<Adoptable>, credential: string, key: string): void {
    const adoptable = this.#byKey.get(`${credential} ${key}`)?.deref();
    // The key is no proof: a credential may hold a space.
    if (adoptable?.rollout.credential === credential) found.add(adoptable);
  }

  #set(adoptable: Adoptable, key: string): void {
    this.#byKey.set(`${adoptable.rollout.credential} ${key}`, new WeakRef(adoptable));
  }
}

/**
 * The entry of the rollout's transcript at which a history begins, or null where it belongs elsewhere: it names no
 * parent and tells everything, or the parent that the rollout continued from, or one of the rollout's own responses.
 */
export function beginningFor(
  { rollout, parentId, from }: Adoptable,
  named: { readonly id: string | null; readonly parent: TurnResponse | null },
): number | null {
  if (named.id === null) return 0;
  if (named.id === parentId) return from;
  return named.parent?.rolloutId === rollout.id ? (named.parent.kept?.transcript.length ?? null) : null;
}

/**
 * What the client is shown of a rollout whose history it has sent, or null where it has to start another: it would be
 * shown nothing, it has been shown that before and so wants another sample, or what it lacks is no longer kept.
 */
export function windowFor(
  { rollout, left, uncertain, until }: Adoptable,
  { unseen, outputItems }: Overlap & { readonly outputItems: number },
  {
    beyond,
    items,
    now,
  }: { readonly beyond: readonly unknown[]; readonly items: readonly unknown[]; readonly now: number },
): Pick<Window, 'first' | 'outputItems'> | null {
  const { handOffs, settlement, suspended } = rollout;
  // What comes before the newest turn's own items the client has had, or has never heard of.
  const after = (handOff: LiveResponse['handOffs'][number] | undefined) =>
    outputItems < (handOff?.outputItems ?? 0)
      ? null
      : keptFrom(rollout, { first: handOff === undefined ? 2 : handOff.number + 1, outputItems });
  if (suspended && unseen === 0)
    return beyond.length > 0 ? { first: rollout.lastNumber + 1, outputItems } : null;
  // A call in the history is this rollout's own; without one it may be another client that asks the same.
  const lost = left || (uncertain && items.some((item) => callIdIn(item) !== null));
  if (!lost || now >= until) return null;
  if (suspended) return after(handOffs.at(-2));
  if (settlement === null)
    return beyond.every((item) => callIdIn(item) !== null) ? after(handOffs.at(-1)) : null;
  const lacksEnd = settlement.outcome.status === 'completed' && unseen > 0 && beyond.length === 0;
  return lacksEnd ? after(handOffs.at(-1)) : null;
}

function keptFrom<Place extends Pick<Window, 'first'>>(rollout: LiveResponse, window: Place): Place | null {
  try {
    rollout.entries(window.first, 0);
    return window;
  } catch (fault) {
    if (fault instanceof ProtocolError) return null;
    throw fault;
  }
}

/** What names the call that an item opens or answers, or null. */
export function callIdIn(item: unknown): string | null {
  return isTyped(item) ? (answeredCallId(item) ?? openedCallId(item)) : null;
}

export function isTyped(item: unknown): item is { readonly type: string } {
  return typeof item === 'object' && item !== null && 'type' in item && typeof item.type === 'string';
}
