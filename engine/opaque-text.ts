/** What a model reads of an opaque item: its JSON, without what is minted per Response, and apart from it its media. */
import type { OpaqueItem } from './protocol/items.js';

export interface OpaqueText {
  readonly json: string;
  /** Images and files that the item holds, in order; in the JSON each is an empty string. */
  readonly media: readonly { readonly type: 'image' | 'file'; readonly units: number }[];
}

const unread = new Set(['id', 'call_id', 'approval_request_id', 'status', 'opaque']);

export function opaqueText(item: OpaqueItem): OpaqueText {
  const media: OpaqueText['media'][number][] = [];
  const isImage = (name: string, value: string): boolean =>
    value.startsWith('data:image/') ||
    (name === 'result' && item.type === 'image_generation_call' && value !== '');
  const read = Object.fromEntries(Object.entries(item).filter(([name]) => !unread.has(name)));
  const json = JSON.stringify(read, (name, value: unknown) => {
    if (name === 'encrypted_content') return undefined;
    if (typeof value !== 'string' || !(value.startsWith('data:') || isImage(name, value))) return value;
    media.push({ type: isImage(name, value) ? 'image' : 'file', units: value.length });
    return '';
  });
  return { json, media };
}
