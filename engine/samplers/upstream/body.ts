/**
 * A request's body in bytes: what was sent stays as it is, and new items are added behind it.
 *
 *   O1  Every body of a session begins with the bytes of the one before it, up to the end of its list of items, so that
 *       the upstream's prefix cache finds it again.
 *   O2  An item is rendered once; the work of a turn grows with its new items alone.
 *   O3  A transcript that was shortened, or is another one, is rendered anew.
 */
import { compactedIn } from '../../protocol/compaction-item.js';
import type { Item } from '../../protocol/items.js';
import type { Transcript } from '../../transcript.js';
import type { Dialect } from './dialect.js';
import type { JsonObject } from './json.js';

/** A summary made by this engine is text to any model; it stands as it is counted. */
function readable(item: Item): Item {
  const compacted = compactedIn(item);
  return compacted === null ? item : { type: 'message', role: 'developer', content: compacted.summary };
}

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

export class SessionBody {
  readonly #dialect: Dialect;
  #pieces: Buffer[] = [];
  #sent = 0;
  #firstSent: Item | null = null;
  #lastSent: Item | null = null;
  #listed = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** @throws ProtocolError where an item has no form in the upstream's API; nothing is added then. */
  pieces(transcript: Transcript, tail: JsonObject): readonly Buffer[] {
    if (!this.#continues(transcript)) this.#begin();
    const items = transcript.items(this.#sent);
    const texts = this.#dialect.render(items.map(readable));
    this.#add(texts);
    if (this.#sent === 0) this.#firstSent = items[0] ?? null;
    this.#sent = transcript.length;
    this.#lastSent = items.at(-1) ?? this.#lastSent;
    const last = JSON.stringify(tail).slice(1);
    return [...this.#pieces, bytes(last === '}' ? ']}' : `],${last}`)];
  }

  /** The transcript holds what was sent: whatever shortens or replaces it changes its first item, or moves its last. */
  #continues(transcript: Transcript): boolean {
    if (this.#pieces.length === 0 || transcript.length < this.#sent) return false;
    if (this.#sent === 0) return true;
    return transcript.at(0).item === this.#firstSent && transcript.at(this.#sent - 1).item === this.#lastSent;
  }

  #begin(): void {
    const { head, list, opening } = this.#dialect;
    this.#pieces = [bytes(`${JSON.stringify(head).slice(0, -1)},"${list}":[`)];
    this.#sent = 0;
    this.#lastSent = null;
    this.#listed = 0;
    this.#add(opening);
  }

  #add(texts: readonly string[]): void {
    if (texts.length === 0) return;
    this.#pieces.push(bytes((this.#listed === 0 ? '' : ',') + texts.join(',')));
    this.#listed += texts.length;
  }
}
