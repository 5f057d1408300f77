/** Turns sampled from recorded answers. */
import { VirtualClock } from '../../../clock.js';
import { firstTurn, openingOf } from '../../testing/turns.js';
import type { SamplerEvent, SamplerOpening, TurnRequest } from '../../sampler.js';
import { upstreamSampler, type UpstreamOptions } from '../upstream.js';
import { recordedHttp, type Recording } from './recorded.js';

export interface Sampling {
  readonly turn?: TurnRequest;
  readonly opening?: SamplerOpening;
  readonly options?: Partial<UpstreamOptions>;
}

/** A sampler on a virtual clock whose upstream plays recordings. */
export function upstreamOf(recordings: readonly Recording[], options: Partial<UpstreamOptions> = {}) {
  const clock = new VirtualClock();
  const http = recordedHttp(...recordings);
  const sampler = upstreamSampler({ url: 'http://model.test/v1', clock, http, ...options });
  return { clock, http, sampler };
}

/** Everything that a turn says, and what it throws. */
export async function saidBy(
  recordings: readonly Recording[],
  { turn = firstTurn, opening = openingOf(), options = {} }: Sampling = {},
) {
  const { clock, http, sampler } = upstreamOf(recordings, options);
  const events: SamplerEvent[] = [];
  let fault: unknown = null;
  const sampling = async (): Promise<void> => {
    try {
      const session = sampler.open(opening);
      for await (const event of session.sample(turn, new AbortController().signal)) events.push(event);
    } catch (thrown) {
      fault = thrown;
    }
  };
  await clock.runUntil(sampling());
  return { clock, http, events, fault, told: told(events) };
}

/** Events in one line each, deltas of one item joined, without `prefill`. */
export function told(events: readonly SamplerEvent[]): string[] {
  const lines: string[] = [];
  for (const event of events) {
    const last = lines.at(-1) ?? '';
    if (event.type === 'delta') {
      const start = `${event.key} says `;
      const delta = String(event.delta);
      if (last.startsWith(start)) lines[lines.length - 1] = last + delta;
      else lines.push(start + delta);
    } else if (event.type === 'item') {
      const { type, ...fields } = event.start;
      const words = Object.values(fields).map((value) =>
        typeof value === 'string' ? value : JSON.stringify(value),
      );
      lines.push([event.key, 'is', type, ...words].join(' '));
    } else if (event.type === 'part') lines.push(`${event.key} part ${event.part}`);
    else if (event.type === 'annotation') lines.push(`${event.key} cites ${String(event.annotation['url'])}`);
    else if (event.type === 'item_end')
      lines.push(
        `${event.key} ends${event.encrypted_content === undefined ? '' : ` with ${event.encrypted_content}`}`,
      );
    else if (event.type === 'usage') lines.push(`usage ${event.held} ${event.output} ${event.reasoning}`);
    else if (event.type === 'cut') lines.push(`cut ${event.reason ?? ''}`);
  }
  return lines;
}
