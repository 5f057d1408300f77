/** The render stage: new items to tokens, the preamble only where it is not the one that was kept, and no overflow. */
import type { Tokenizer } from './ports.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { renderItem, renderPreamble } from './render.js';
import { compactThreshold } from './room.js';
import { isSameJson } from './same-json.js';
import { noPreamble, type Passage, type Preamble, type Stage, type StageRun } from './stages.js';

/** Renders items one after another: the tokenizer answers at once while there is little to do, else in breaths (S7). */
function renderAll(
  items: readonly Item[],
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Uint32Array[] | Promise<Uint32Array[]> {
  const rendered: Uint32Array[] = [];
  for (const item of items) {
    const tokens = renderItem(item, tokenizer, signal);
    if (tokens instanceof Promise) return renderRest(tokens);
    rendered.push(tokens);
  }
  return rendered;

  async function renderRest(pending: Promise<Uint32Array>): Promise<Uint32Array[]> {
    rendered.push(await pending);
    for (const item of items.slice(rendered.length)) rendered.push(await renderItem(item, tokenizer, signal));
    return rendered;
  }
}

function refuseOverflow(passage: Passage, items: number): void {
  const held = passage.transcript.tokens + passage.pendingTokens;
  const context = passage.preamble.tokens.length + held + items;
  const { request } = passage;
  // Room is made for the turn, or its plan refuses it.
  if (request.truncation === 'auto' || compactThreshold(request) !== null) return;
  const most = passage.sampler?.contextTokensMax ?? Infinity;
  if (context > most)
    throw new ProtocolError(
      'context_length_exceeded',
      `The context would be ${context} tokens long; the model takes at most ${most}. Shorten the input.`,
      { param: 'input' },
    );
}

/** @param tokenizer counts and encodes; a long text is encoded in breaths. */
export function renderStage(tokenizer: Tokenizer): Stage {
  const preamble = (passage: Passage): Preamble | Promise<Preamble> => {
    if (passage.phase === 'append') return passage.preamble;
    const instructions = passage.request.instructions ?? null;
    const tools = passage.request.tools ?? [];
    if ((instructions ?? '') === '' && tools.length === 0) return noPreamble;
    const kept = passage.kept?.preamble;
    if (kept?.instructions === instructions && isSameJson(tools, kept.tools)) return kept;
    const tokens = renderPreamble(instructions, tools, tokenizer, passage.signal);
    return tokens instanceof Promise
      ? tokens.then((all) => ({ instructions, tools, tokens: all }))
      : { instructions, tools, tokens };
  };
  const finish = (passage: Passage, front: Preamble, rendered: readonly Uint32Array[]): StageRun => {
    passage.preamble = front;
    passage.rendered = rendered;
    const items = rendered.reduce((sum, tokens) => sum + tokens.length, 0);
    refuseOverflow(passage, items);
    const fresh = passage.phase === 'pre' && front !== passage.kept?.preamble;
    return { tokens: items + (fresh ? front.tokens.length : 0) };
  };
  return {
    name: 'render',
    phases: ['pre', 'append'],
    reads: 'new',
    refuses: true,
    critical: true,
    essential: true,
    run(passage, items) {
      const front = preamble(passage);
      const rendered = renderAll(items, tokenizer, passage.signal);
      if (front instanceof Promise || rendered instanceof Promise)
        return Promise.all([front, rendered]).then(([done, all]) => finish(passage, done, all));
      return finish(passage, front, rendered);
    },
  };
}
