/** Items that responses have stored, by id, so that a client may send an `item_reference` in the place of one. */
import { ProtocolError, type OutputItem } from '../engine/index.js';
import { Bounded } from '../engine/bounded.js';
import { keyOf } from './creates.js';
import type { CreateFields } from './continuity.js';

function referenceIn(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || !('id' in item) || typeof item.id !== 'string')
    return null;
  // A client may leave the type out, as the public API lets it.
  const alone = !('type' in item) && Object.keys(item).length === 1;
  return alone || ('type' in item && item.type === 'item_reference') ? item.id : null;
}

export class StoredItems {
  readonly #items: Bounded<OutputItem>;

  /** @param max items, over all credentials; the oldest go first. */
  constructor(max: number) {
    this.#items = new Bounded(max);
  }

  add(credential: string, items: readonly OutputItem[]): void {
    for (const item of items) this.#items.set(keyOf(credential, item.id), item);
  }

  /**
   * The create with each reference replaced by its item.
   * @throws ProtocolError `item_not_found` for an id that is unknown, or another caller's.
   */
  resolve(credential: string, create: CreateFields): CreateFields {
    const { input } = create;
    if (!Array.isArray(input) || !input.some((item) => referenceIn(item) !== null)) return create;
    return {
      ...create,
      input: input.map((item: unknown, index) => {
        const id = referenceIn(item);
        return id === null ? item : this.#require(credential, id, index);
      }),
    };
  }

  #require(credential: string, id: string, index: number): OutputItem {
    const found = this.#items.get(keyOf(credential, id));
    if (found !== undefined) return found;
    throw new ProtocolError(
      'item_not_found',
      `Item with id "${id.slice(0, 128)}" not found; send the item itself.`,
      { param: `input[${index}].id` },
    );
  }
}
