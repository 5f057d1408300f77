/** The tools that one turn called, at work. */
import type { OutputItem } from '../engine/index.js';
import type { ClientToolCall, RunOptions } from './client-report.js';

type CallItem = Extract<OutputItem, { call_id: string }>;

export function isCall(item: OutputItem): item is CallItem {
  return 'call_id' in item && typeof item.call_id === 'string';
}

/** A tool at work, and its output item once there is one. */
export class ToolRun {
  readonly done: Promise<object>;
  output: object | null = null;

  constructor(done: Promise<object>) {
    this.done = done.then((output) => (this.output = output));
  }
}

async function runTool(tool: RunOptions['tool'], call: ClientToolCall): Promise<object> {
  let output: string | readonly object[];
  try {
    output = await tool(call);
  } catch (fault) {
    output = `The tool failed: ${fault instanceof Error ? fault.message : String(fault)}`;
  }
  return { type: `${call.type}_output`, call_id: call.call_id, output };
}

export class TurnTools {
  readonly #turn: number;
  readonly #tool: RunOptions['tool'];
  readonly #onStart: (run: ToolRun) => void;
  /** In call order; null for those that have not started. */
  readonly #calls: { readonly item: CallItem; run: ToolRun | null }[] = [];

  /** @param onStart gets each tool as it starts. */
  constructor(turn: number, tool: RunOptions['tool'], onStart: (run: ToolRun) => void) {
    this.#turn = turn;
    this.#tool = tool;
    this.#onStart = onStart;
  }

  get count(): number {
    return this.#calls.length;
  }

  add(item: CallItem): void {
    this.#calls.push({ item, run: null });
  }

  /** Starts those that have not started. Gives all, in call order. */
  start(): ToolRun[] {
    return this.#calls.map((entry, index) => (entry.run ??= this.#begin(entry.item, index)));
  }

  #begin(item: CallItem, index: number): ToolRun {
    const run = new ToolRun(
      runTool(this.#tool, {
        call_id: item.call_id,
        type: item.type,
        name: 'name' in item && typeof item.name === 'string' ? item.name : item.type,
        arguments: String('arguments' in item ? item.arguments : 'input' in item ? item.input : ''),
        turn: this.#turn,
        index,
      }),
    );
    this.#onStart(run);
    return run;
  }
}
