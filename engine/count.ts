/** How many tokens a request would put into the context, without a rollout. */
import type { Tokenizer } from './ports.js';
import { parse } from './protocol/parse.js';
import { createRequestSchema } from './protocol/requests.js';
import { takeIn } from './intake.js';
import { renderItem, renderPreamble } from './render.js';
import type { Kept } from './stages.js';
import { Transcript } from './transcript.js';

/** @throws ProtocolError where a create of it would be refused for what it says. */
export async function countInput(
  raw: unknown,
  kept: Kept | null,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<number> {
  const request = parse(createRequestSchema, raw);
  const transcript = kept?.transcript ?? Transcript.empty;
  const items = takeIn(request.input, transcript, kept?.owed ?? []);
  const { instructions, tools } = request;
  const preamble = await renderPreamble(instructions ?? null, tools ?? [], tokenizer, signal);
  let tokens = preamble.length + transcript.tokens;
  for (const item of items) tokens += (await renderItem(item, tokenizer, signal)).length;
  return tokens;
}
