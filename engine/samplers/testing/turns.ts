/** Turns for tests of samplers: small contexts, and what a turn says, with the time at which it says it. */
import { VirtualClock } from '../../clock.js';
import type { Item } from '../../protocol/items.js';
import { createRequestSchema, type CreateRequest } from '../../protocol/requests.js';
import { Transcript, type Entry } from '../../transcript.js';
import type { ScriptItem, ScriptTurn } from '../script.js';
import { scriptedSampler, type ScriptedOptions } from '../scripted.js';
import type { Sampler, SamplerEvent, SamplerOpening, SamplerSession, TurnRequest } from '../sampler.js';

export const user = (content: string): Item => ({ type: 'message', role: 'user', content });
export const assistant = (content: string): Item => ({ type: 'message', role: 'assistant', content });
export const call = (callId: string): Item => ({
  type: 'function_call',
  call_id: callId,
  name: 'ls',
  arguments: '{}',
});
export const output = (callId: string, text: string): Item => ({
  type: 'function_call_output',
  call_id: callId,
  output: text,
});

export function entry(item: Item, tokens: number): Entry {
  return { item, tokens: new Uint32Array(tokens) };
}

export function transcriptOf(...entries: Entry[]): Transcript {
  return Transcript.empty.extend(entries);
}

/** A turn on that transcript, with a preamble of 10 tokens. */
export function turnOn(transcript: Transcript, settings: Partial<TurnRequest> = {}): TurnRequest {
  const preamble = settings.context?.preamble ?? new Uint32Array(10);
  return {
    turn: 1,
    toolChoice: 'auto',
    parallelToolCalls: true,
    outputTokensMax: Infinity,
    ...settings,
    context: { preamble, transcript, tokens: preamble.length + transcript.tokens },
  };
}

/** Ten tokens of preamble and ten of a message. */
export const firstTurn = turnOn(transcriptOf(entry(user('hello'), 10)));

export function openingOf(request: Record<string, unknown> = {}, conversation = 'one'): SamplerOpening {
  const parsed: CreateRequest = createRequestSchema.parse({ model: 'scripted', ...request });
  return { conversation, request: parsed };
}

export type Told = readonly [ms: number, event: SamplerEvent];

/** Samples a turn to its end, moving the clock as far as it needs; `told` grows while it does. */
export async function record(
  clock: VirtualClock,
  session: SamplerSession | Sampler,
  turn: TurnRequest = firstTurn,
  { signal = new AbortController().signal, told = [] }: { signal?: AbortSignal; told?: Told[] } = {},
): Promise<readonly Told[]> {
  const sampling = async () => {
    const steps = 'open' in session ? session.open(openingOf()) : session;
    for await (const event of steps.sample(turn, signal)) told.push([clock.now(), event]);
  };
  await clock.runUntil(sampling());
  return told;
}

export const say = (text: string): ScriptItem => ({ type: 'message', text });

/** A sampler of one turn, and the clock it lives on. */
export function scripted(turn: Partial<ScriptTurn>, options: Partial<ScriptedOptions> = {}) {
  const clock = new VirtualClock();
  return { clock, sampler: scriptedSampler({ script: [{ items: [], ...turn }], clock, ...options }) };
}

/** What a turn says, without times. */
export async function eventsOf(
  turn: Partial<ScriptTurn>,
  options: Partial<ScriptedOptions> = {},
  request = firstTurn,
): Promise<SamplerEvent[]> {
  const { clock, sampler } = scripted(turn, options);
  const told = await record(clock, sampler, request);
  return told.map(([, event]) => event);
}

/** What messages of the first turn look like. */
export const prefill: SamplerEvent = { type: 'prefill', held: 0, read: 20 };
export const item = (key: number): SamplerEvent => ({ type: 'item', key, start: { type: 'message' } });
export const delta = (key: number, text: string | Uint8Array, tokens: number): SamplerEvent => ({
  type: 'delta',
  key,
  delta: text,
  tokens,
});
export const end = (key: number): SamplerEvent => ({ type: 'item_end', key });
