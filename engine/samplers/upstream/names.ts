/**
 * Names of tools for an API that has plain functions only: a namespaced, long or otherwise unfit name gets a fit one,
 * always the same, and the call that comes back gets its own again.
 */
import { createHash } from 'node:crypto';

import type { SampledStart } from '../sampler.js';

export type CallStart = Extract<SampledStart, { type: 'function_call' | 'custom_tool_call' }>;
type CallName = Pick<CallStart, 'type' | 'name' | 'namespace'>;

const fit = /^[\w-]{1,64}$/;
const unitsMax = 64;

/** Eight hexadecimal digits of what is named, for names that had to change. */
function mark(whole: string): string {
  return createHash('sha256').update(whole).digest('hex').slice(0, 8);
}

export class ToolNames {
  readonly #calls = new Map<string, CallStart>();
  readonly #wire = new Map<string, string>();

  /** The name for the upstream. A name that was asked for once stays. */
  wire({ type, name, namespace }: CallName): string {
    const id = `${type} ${namespace ?? ''} ${name}`;
    const known = this.#wire.get(id);
    if (known !== undefined) return known;
    const plain = namespace === undefined ? name : `${namespace}__${name}`;
    const wanted = fit.test(plain) ? plain : this.#fitted(plain);
    const free = this.#calls.has(wanted) ? this.#fitted(`${id} ${plain}`, wanted) : wanted;
    this.#wire.set(id, free);
    this.#calls.set(free, namespace === undefined ? { type, name } : { type, name, namespace });
    return free;
  }

  /** The name for the upstream of a tool that is chosen by its own name alone, in whichever namespace it was declared. */
  chosen(type: CallStart['type'], name: string): string {
    const declared = [...this.#calls].find(([, call]) => call.type === type && call.name === name);
    return declared?.[0] ?? this.wire({ type, name });
  }

  /** The call behind a name of the upstream's. One that nobody declared is called as it is. */
  read(wireName: string): CallStart {
    return this.#calls.get(wireName) ?? { type: 'function_call', name: wireName };
  }

  #fitted(whole: string, shown = whole): string {
    const end = `_${mark(whole)}`;
    return shown.replaceAll(/[^\w-]/g, '_').slice(0, unitsMax - end.length) + end;
  }
}
