/** A sampler of an embedder's own: it says the last user message backwards, a word at a time. */
import { isOpaque } from '../protocol/items.js';
import type { Sampler, SamplerEvent, SamplerSession, TurnRequest } from '../index.js';

function lastUserText({ context: { transcript } }: TurnRequest): string {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const { item } = transcript.at(index);
    if (!isOpaque(item) && item.type === 'message' && item.role === 'user')
      return typeof item.content === 'string' ? item.content : JSON.stringify(item.content);
  }
  return '';
}

/** A turn as events. `cut` where the bound falls before the end. */
function* eventsOf(turn: TurnRequest): Generator<SamplerEvent, void> {
  const words = lastUserText(turn).split(/\s+/).filter(Boolean).toReversed();
  yield { type: 'prefill', held: 0, read: turn.context.tokens };
  yield { type: 'item', key: 0, start: { type: 'message' } };
  for (const [index, word] of words.entries()) {
    if (index === turn.outputTokensMax) return yield { type: 'cut' };
    yield { type: 'delta', key: 0, delta: index === 0 ? word : ` ${word}`, tokens: 1 };
  }
  yield { type: 'item_end', key: 0 };
}

class BackwardsSession implements SamplerSession {
  /** A real sampler waits for its model between two events; this one only heeds the signal. */
  async *sample(turn: TurnRequest, signal: AbortSignal): AsyncGenerator<SamplerEvent> {
    for (const event of eventsOf(turn)) {
      signal.throwIfAborted();
      yield event;
    }
    signal.throwIfAborted();
  }

  suspend(): void {
    // It keeps no state between turns.
  }

  release(): void {
    // There is nothing to give back.
  }
}

export const backwardsSampler: Sampler = {
  contextTokensMax: 8_192,
  open: () => new BackwardsSession(),
};
