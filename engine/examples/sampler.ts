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

class BackwardsSession implements SamplerSession {
  async *sample(turn: TurnRequest, signal: AbortSignal): AsyncGenerator<SamplerEvent> {
    const words = lastUserText(turn).split(/\s+/).filter(Boolean).toReversed();
    yield { type: 'prefill', held: 0, read: turn.context.tokens };
    yield { type: 'item', key: 0, start: { type: 'message' } };
    let tokens = 0;
    for (const word of words) {
      signal.throwIfAborted();
      if (tokens === turn.outputTokensMax) {
        yield { type: 'cut' };
        return;
      }
      yield { type: 'delta', key: 0, delta: tokens === 0 ? word : ` ${word}`, tokens: 1 };
      tokens++;
    }
    yield { type: 'item_end', key: 0 };
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
