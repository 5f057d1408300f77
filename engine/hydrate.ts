/**
 * A stored Response as something to continue from, after the engine has let go of it: its items, rendered anew.
 *
 *   Y1  A Response goes on from a place in an earlier one, which may have gone on itself: of each Response no more is
 *       taken than the next one inherited.
 *   Y2  A conversation of which anything is missing is not found.
 *   Y3  A compaction stands for everything before it. An output whose call is gone has gone with it.
 */
import { answeredCallId, openedCallId } from './calls.js';
import { compactedIn } from './protocol/compaction-item.js';
import type { Item } from './protocol/items.js';
import type { Store, StoredResponse, Tokenizer } from './ports.js';
import { renderItem } from './render.js';
import { noPreamble, type Kept } from './stages.js';
import { Transcript, type Entry } from './transcript.js';

/** Responses that a conversation may go back before it is taken for one without a beginning. */
const ancestorsMax = 100_000;

/** The stored Responses of a conversation, oldest first; null where one of them is missing. */
async function lineage(
  store: Store,
  id: string,
  credential: string,
  signal: AbortSignal,
): Promise<StoredResponse[] | null> {
  const found: StoredResponse[] = [];
  for (let next: string | null = id; next !== null;) {
    const stored = await store.load(next, credential, signal);
    if (stored === null || found.length === ancestorsMax) return null; // Y2
    found.push(stored);
    next = stored.inherited === 0 ? null : stored.previous_response_id;
  }
  return found.toReversed();
}

/** The items of the whole conversation, or null where a Response inherited more than is there. */
function itemsThrough(responses: readonly StoredResponse[]): Item[] | null {
  const items: Item[] = [];
  for (const { inherited, items: added } of responses) {
    if (items.length < inherited) return null; // Y2
    items.length = inherited; // Y1
    for (const item of added) items.push(item);
  }
  const compaction = items.findLastIndex((item) => compactedIn(item) !== null);
  return withoutOrphans(items.slice(Math.max(0, compaction))); // Y3
}

function withoutOrphans(items: readonly Item[]): Item[] {
  const opened = new Set(items.map(openedCallId));
  return items.filter((item) => {
    const answers = answeredCallId(item);
    return answers === null || opened.has(answers);
  });
}

/** @returns null where it is not stored whole, has failed, or belongs to another credential. */
export async function hydrate(
  store: Store,
  tokenizer: Tokenizer,
  id: string,
  credential: string,
  signal: AbortSignal,
): Promise<Kept | null> {
  const responses = await lineage(store, id, credential, signal);
  const last = responses?.at(-1);
  if (responses === null || last === undefined || last.status === 'failed') return null;
  const items = itemsThrough(responses);
  if (items === null) return null;
  const entries: Entry[] = [];
  // A compaction stands for everything before it.
  const from = Math.max(
    0,
    items.findLastIndex(({ type }) => type === 'compaction'),
  );
  for (const item of items.slice(from))
    entries.push({ item, tokens: await renderItem(item, tokenizer, signal) });
  const transcript = Transcript.empty.extend(entries);
  return {
    responseId: id,
    conversation: responses[0]?.request.prompt_cache_key ?? responses[0]?.id ?? id,
    model: last.request.model,
    transcript,
    preamble: noPreamble,
    countedTokens: 0,
    owed: transcript.unanswered(),
  };
}
