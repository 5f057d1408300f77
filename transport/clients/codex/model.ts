/** The model that Codex talks to: it gives its commands in turn, then says what the last of them showed. */
import {
  scriptedSampler,
  type Clock,
  type Item,
  type Sampler,
  type SamplerEvent,
  type ScriptItem,
  type TurnRequest,
} from '../../../engine/index.js';
import { isToolOutput } from '../../../engine/protocol/items.js';
import { orAbort } from '../../../engine/watch.js';
import type { Checkpoint } from './checkpoint.js';

/** A turn that calls `exec_command` once for each command, or says the model's last words where there is none. */
export interface Step {
  readonly commands: readonly string[];
  /** Where the model waits in the middle of the turn. */
  readonly held?: Held;
}

export interface Held {
  /** The first item is announced and not complete, or it is complete and the turn is not. */
  readonly after: 'item' | 'item_end';
  readonly at: Checkpoint;
}

function textOf(item: Item): string {
  if (!isToolOutput(item)) return '';
  if (typeof item.output === 'string') return item.output;
  return item.output.map((part) => ('text' in part ? part.text : '')).join('');
}

/** What the newest outputs say, below the lines that Codex puts above what a command printed. */
function lastOutputs({ context: { transcript } }: TurnRequest): string {
  const outputs: string[] = [];
  for (let index = transcript.length - 1; index >= 0; index--) {
    const { item } = transcript.at(index);
    if (!isToolOutput(item)) break;
    outputs.unshift(textOf(item).replace(/^[\s\S]*?\nOutput:\n/, ''));
  }
  return outputs.join('').trim();
}

function execCommand(cmd: string): ScriptItem {
  return { type: 'function_call', name: 'exec_command', arguments: JSON.stringify({ cmd }) };
}

/** Turns are counted in the transcript, so the steps are the same whether a Response lives for one turn or for all. */
function stepAt(steps: readonly Step[], turn: TurnRequest): Step | null {
  return steps[turn.context.transcript.turns] ?? null;
}

async function* holding(
  events: AsyncIterable<SamplerEvent>,
  { after, at }: Held,
  signal: AbortSignal,
): AsyncGenerator<SamplerEvent, void> {
  for await (const event of events) {
    yield event;
    if (event.type === after) await orAbort(at.arrive(), signal);
  }
}

/**
 * Where steps are at an end the model says `The commands said: …`.
 * @param suspended is called when a turn has handed off and its rollout waits.
 */
export function stepwiseModel(steps: readonly Step[], clock: Clock, suspended: () => void): Sampler {
  const scripted = scriptedSampler({
    clock,
    script: (turn) => {
      const { commands = [] } = stepAt(steps, turn) ?? {};
      if (commands.length > 0) return { items: commands.map(execCommand) };
      return { items: [{ type: 'message', text: `The commands said: ${lastOutputs(turn)}` }] };
    },
  });
  return {
    contextTokensMax: scripted.contextTokensMax,
    open(opening) {
      const session = scripted.open(opening);
      return {
        sample(turn, signal) {
          const events = session.sample(turn, signal);
          const held = stepAt(steps, turn)?.held;
          return held === undefined ? events : holding(events, held, signal);
        },
        suspend() {
          session.suspend();
          suspended();
        },
        release: () => session.release(),
      };
    },
  };
}
