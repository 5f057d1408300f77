/** The `compaction` item: a summary that stands for everything before it, in a form that a client carries unread. */
import { z } from 'zod';

import { isOpaque, type Item, type OpaqueItem } from './items.js';

const compactedSchema = z.object({ summary: z.string(), turns: z.int().min(0) });

/** What a compaction item holds. */
export type Compacted = z.output<typeof compactedSchema>;

/** Its `encrypted_content` is base64url of JSON: encoded and not secret, for it holds nothing that its client lacks. */
export function compactionItem(compacted: Compacted, id: string): OpaqueItem {
  const encrypted_content = Buffer.from(JSON.stringify(compacted)).toString('base64url');
  return { type: 'compaction', id, encrypted_content, opaque: true };
}

/** What a compaction item holds; null for any other item, and for one that was not made here. */
export function compactedIn(item: Item): Compacted | null {
  if (!isOpaque(item) || item.type !== 'compaction') return null;
  const sealed = item['encrypted_content'];
  if (typeof sealed !== 'string') return null;
  try {
    return compactedSchema.parse(JSON.parse(Buffer.from(sealed, 'base64url').toString()));
  } catch {
    return null;
  }
}
