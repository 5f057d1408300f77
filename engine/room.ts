/**
 * Room for a turn: what is done before it where the context has grown too long and the request says how to shorten it.
 *
 *   F1  `context_management` compacts above its threshold: a `compaction` item takes the place of all but the newest turn.
 *   F2  `truncation: auto` drops the oldest items where the context is longer than the model takes, down to four fifths
 *       of that, so that it is not done at every turn. An output goes with its call, and the newest turn stays.
 */
import { answeredCallId } from './calls.js';
import { compactable } from './compaction.js';
import type { RolloutContext } from './context.js';
import type { Step } from './log-entry.js';
import type { Model } from './model.js';
import { compactionItem } from './protocol/compaction-item.js';
import type { OpaqueItem } from './protocol/items.js';
import type { CreateRequest } from './protocol/requests.js';
import type { OutputItem } from './protocol/server-events.js';
import { renderItem } from './render.js';
import type { RolloutParts } from './rollout-parts.js';

/** The share of the model's context that a truncation leaves in use. */
const truncatedShare = 0.8;

/** The threshold of a request's compaction in tokens; null where it asks for none. */
export function compactThreshold({ context_management }: CreateRequest): number | null {
  return context_management?.find(({ type }) => type === 'compaction')?.compact_threshold ?? null;
}

/** Whether the client asks for a compaction here and now, and for nothing else. */
export function asksToCompact({ input }: CreateRequest): boolean {
  return input.some((item) => item.type === 'compaction_trigger');
}

/** What room is made in. */
export interface Room {
  readonly context: RolloutContext;
  readonly model: Model;
  readonly request: CreateRequest;
  readonly parts: RolloutParts;
  /** Output items so far: a compaction is the next one. */
  readonly outputItems: number;
}

/** Compacts all but the newest turn, or all of it. Null where there is nothing to compact. */
async function compacted({ context, parts }: Room, everything: boolean): Promise<OpaqueItem | null> {
  const items = context.transcript.items();
  const count = everything ? items.length : compactable(items);
  if (count === 0) return null;
  const summary = await parts.compactor(items.slice(0, count), parts.signal);
  const { turns } = context.transcript.prefix(count);
  const item = compactionItem({ summary, turns }, parts.mintId('cmp'));
  context.shorten(count, [{ item, tokens: await renderItem(item, parts.tokenizer, parts.signal) }]);
  return item;
}

/** Compacts, shows the item that says so, and gives it. */
export async function* compact(room: Room, everything: boolean): AsyncGenerator<Step, OutputItem[]> {
  const made = await compacted(room, everything);
  if (made === null) return [];
  room.model.reopen();
  const { opaque: _, ...fields } = made;
  const item = { ...fields, id: made.id ?? '' };
  const at = { output_index: room.outputItems, item };
  yield [
    { type: 'response.output_item.added', ...at },
    { type: 'response.output_item.done', ...at },
  ];
  return [item];
}

/** Whether `makeRoom` has anything to do. Most turns have room enough, and a generator less to go through. */
export function needsRoom(context: RolloutContext, { sampler }: Model, request: CreateRequest): boolean {
  const most = request.truncation === 'auto' ? sampler.contextTokensMax : Infinity;
  return context.tokens > Math.min(compactThreshold(request) ?? Infinity, most);
}

/** Shortens the context where it has grown too long; gives the items that the client is shown of it. */
export async function* makeRoom(room: Room): AsyncGenerator<Step, OutputItem[]> {
  const { context, model, request } = room;
  const threshold = compactThreshold(request);
  if (threshold !== null && context.tokens > threshold) return yield* compact(room, false);
  if (request.truncation === 'auto' && truncate(context, model.sampler.contextTokensMax)) model.reopen();
  return [];
}

/** Drops the oldest entries until the context fits (F2). True where it dropped any. */
function truncate(context: RolloutContext, contextTokensMax: number): boolean {
  if (context.tokens <= contextTokensMax) return false;
  const { transcript } = context;
  const most = compactable(transcript.items());
  const target = contextTokensMax * truncatedShare;
  let count = 0;
  let { tokens } = context;
  for (; count < most; count++) {
    const { item, tokens: own } = transcript.at(count);
    if (tokens <= target && answeredCallId(item) === null) break;
    tokens -= own.length;
  }
  if (count > 0) context.shorten(count, []);
  return count > 0;
}
