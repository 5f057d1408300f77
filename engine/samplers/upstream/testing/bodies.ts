/** What an upstream is sent for a transcript. */
import assert from 'node:assert/strict';

import type { Item } from '../../../protocol/items.js';
import { appendInputSchema } from '../../../protocol/requests.js';
import type { Transcript } from '../../../transcript.js';
import { entry, openingOf, transcriptOf, turnOn } from '../../testing/turns.js';
import type { UpstreamOptions } from '../upstream.js';
import { openaiText } from './chat-streams.js';
import { recording } from './recorded.js';
import { responsesAll } from './responses-streams.js';
import { saidBy } from './sampling.js';

export const items = (...raw: readonly object[]): Item[] => appendInputSchema.parse(raw);
export const transcriptWith = (...raw: readonly object[]): Transcript =>
  transcriptOf(...items(...raw).map((item) => entry(item, 1)));

export const ask = { type: 'message', role: 'user', content: 'Go.' };
export const call = (callId: string, name = 'ls', args = '{}') => ({
  type: 'function_call',
  call_id: callId,
  name,
  arguments: args,
});
export const output = (callId: string, text: unknown = 'ok') => ({
  type: 'function_call_output',
  call_id: callId,
  output: text,
});

export const asResponses = { api: 'responses' as const };

/** The body of one turn over that transcript. */
export async function bodyOf(
  transcript: Transcript,
  request: Record<string, unknown> = {},
  options: Partial<UpstreamOptions> = {},
  settings: Parameters<typeof turnOn>[1] = {},
) {
  const stream = options.api === 'responses' ? responsesAll : openaiText;
  const sampling = { turn: turnOn(transcript, settings), opening: openingOf(request), options };
  const { http, fault } = await saidBy([recording(stream)], sampling);
  if (fault !== null) throw fault;
  return http.requests[0]?.body ?? assert.fail('nothing was sent');
}
