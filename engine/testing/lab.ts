/**
 * A laboratory for whole rollouts: an engine on virtual time whose model plays a script and remembers what it read.
 *
 *   B1  One token is one UTF-16 unit, so that counts are plain and a prompt can be read back from its tokens.
 *   B2  Nothing is random: ids are counted per prefix, and time moves only by hand.
 */
import { VirtualClock } from '../clock.js';
import { Engine, type CreateOptions, type EngineOptions, type UncheckedRequest } from '../engine.js';
import type { LiveResponse } from '../live-response.js';
import { MemoryStore } from '../memory-store.js';
import type { Tokenizer } from '../ports.js';
import { ProtocolError } from '../protocol/errors.js';
import type { ServerEvent } from '../protocol/server-events.js';
import { control } from '../render.js';
import type { Sampler, TurnRequest } from '../samplers/sampler.js';
import {
  scriptedSampler,
  type Script,
  type ScriptItem,
  type ScriptedOptions,
  type ScriptedSampler,
  type ScriptTurn,
} from '../samplers/scripted.js';

/** One token per UTF-16 unit (B1). */
export const unitTokenizer: Tokenizer = {
  encode: (text) => Uint32Array.from({ length: text.length }, (_, index) => text.charCodeAt(index)),
};

/** The blocks of a rendered context as `header: body`. Images and files show as `[image]` and `[file]`. */
function readBack(parts: Iterable<Uint32Array>): string[] {
  const blocks: string[] = [];
  let block = '';
  let before = 0;
  for (const part of parts)
    for (const token of part) {
      if (token === control.start) block = '';
      else if (token === control.message) block += ': ';
      else if (token === control.end || token === control.call) blocks.push(block);
      else if (token === control.image || token === control.file) {
        if (token !== before) block += token === control.image ? '[image]' : '[file]';
      } else block += String.fromCharCode(token);
      before = token;
    }
  return blocks;
}

/** A turn as the model was given it. */
export interface SeenTurn extends TurnRequest {
  readonly conversation: string;
  readonly signal: AbortSignal;
  /** What the model read, block by block. */
  readonly prompt: readonly string[];
}

function remembering(sampler: Sampler, turns: SeenTurn[]): Sampler {
  return {
    contextTokensMax: sampler.contextTokensMax,
    open(opening) {
      const session = sampler.open(opening);
      return {
        sample(request, signal) {
          const { preamble, transcript } = request.context;
          turns.push({
            ...request,
            conversation: opening.conversation,
            signal,
            get prompt() {
              return readBack([preamble, ...Array.from(transcript.entries(), (entry) => entry.tokens)]);
            },
          });
          return session.sample(request, signal);
        },
        suspend: () => session.suspend(),
        release: () => session.release(),
      };
    },
  };
}

function counted(): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return `${prefix}_${count}`;
  };
}

export interface LabOptions extends Partial<Omit<ScriptedOptions, 'script' | 'clock'>> {
  readonly engine?: Partial<Omit<EngineOptions, 'clock' | 'sampler'>>;
}

export class Lab {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore();
  readonly model: ScriptedSampler;
  readonly engine: Engine;
  /** Every turn that the model was asked for, in order. */
  readonly turns: SeenTurn[] = [];

  constructor(script: Script, { engine, ...scripted }: LabOptions = {}) {
    this.model = scriptedSampler({ ...scripted, script, clock: this.clock });
    const sampler = remembering(this.model, this.turns);
    this.engine = new Engine({
      tokenizer: unitTokenizer,
      store: this.store,
      mintId: counted(),
      ...engine,
      clock: this.clock,
      sampler: (model) => (model === 'unserved' ? null : sampler),
    });
  }

  /** What the model read at the newest turn. */
  get prompt(): readonly string[] {
    return this.turns.at(-1)?.prompt ?? [];
  }

  /** Creates a rollout and lets it run as far as it goes without time. */
  async create(
    request: string | UncheckedRequest = 'hi',
    options: CreateOptions = {},
  ): Promise<LiveResponse> {
    const asked = typeof request === 'string' ? { input: request } : request;
    const response = await this.engine.create({ model: 'scripted', input: 'hi', ...asked }, options);
    await this.settle();
    return response;
  }

  /** Appends and lets the rollout run as far as it goes without time. */
  async append(response: LiveResponse, ...input: readonly unknown[]) {
    const accepted = await response.append(input);
    await this.settle();
    return accepted;
  }

  /** Lets everything run that needs no time. */
  settle(): Promise<void> {
    return this.clock.advance(0);
  }
}

export function turn(...items: readonly ScriptItem[]): ScriptTurn {
  return { items };
}

export function say(text: string): ScriptItem {
  return { type: 'message', text };
}

export function call(name: string, args = '{}'): ScriptItem {
  return { type: 'function_call', name, arguments: args };
}

export function customCall(name: string, input = ''): ScriptItem {
  return { type: 'custom_tool_call', name, input };
}

export function output(callId: string | undefined, content: unknown) {
  return { type: 'function_call_output', call_id: callId, output: content };
}

export function customOutput(callId: string | undefined, content: unknown) {
  return { type: 'custom_tool_call_output', call_id: callId, output: content };
}

export function message(text: string) {
  return { type: 'message', role: 'user', content: text };
}

/** All events of a Response so far. */
export function eventsOf(response: LiveResponse): ServerEvent[] {
  return response.entries(0).map((entry, number) => response.event(entry, number));
}

/** Reads a Response from after that number to its end; `events` grows while it does. */
export function read(response: LiveResponse, startingAfter?: number) {
  const events: ServerEvent[] = [];
  const ended = (async () => {
    for await (const event of response.events(startingAfter)) events.push(event);
  })();
  return { events, ended };
}

/** The events of one type. */
export function eventsOfType<Type extends ServerEvent['type']>(
  response: LiveResponse,
  type: Type,
): Extract<ServerEvent, { type: Type }>[] {
  return eventsOf(response).filter(
    (event): event is Extract<ServerEvent, { type: Type }> => event.type === type,
  );
}

export function typesOf(response: LiveResponse): string[] {
  return eventsOf(response).map((event) => event.type);
}

/** Ids of the calls announced so far, in call order. */
export function callIdsOf(response: LiveResponse): string[] {
  return eventsOfType(response, 'response.output_item.added').flatMap(({ item }) =>
    'call_id' in item && typeof item.call_id === 'string' ? [item.call_id] : [],
  );
}

/** The error a refused promise rejects with. */
export async function refusal(promise: Promise<unknown>): Promise<ProtocolError> {
  try {
    await promise;
  } catch (fault) {
    if (fault instanceof ProtocolError) return fault;
    throw fault;
  }
  throw new Error('nothing was refused');
}

/** How often each post stage ran. */
export function postRuns({ stageRuns }: LiveResponse): number[] {
  return ['post.classify', 'post.store', 'post.bill'].map((stage) => stageRuns[stage]?.runs ?? 0);
}
