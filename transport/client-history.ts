/** What a client keeps of a conversation: all that was said, and what a create with the whole history would send. */
import type { OutputItem } from '../engine/index.js';
import { firstItems } from './client-report.js';
import { ToolRun } from './client-tools.js';

export class ClientHistory {
  /** A tool's place is taken at the hand-off, before it is done. */
  readonly #said: (OutputItem | ToolRun)[] = [];
  #sent: unknown[];
  /** Where the turn under way begins in what is sent, and where the newest before it: its calls and their outputs. */
  #turnFrom: number;
  #newestFrom: number;

  /** @param before what the conversation held. @param input what the user says now. */
  constructor(before: readonly unknown[], input: unknown) {
    this.#sent = [...before, ...firstItems(input)];
    this.#newestFrom = before.length;
    this.#turnFrom = this.#sent.length;
  }

  /** What the model wrote and what the tools answered, in order, as far as it is there. */
  get items(): object[] {
    return this.#said.flatMap((entry) => (entry instanceof ToolRun ? (entry.output ?? []) : entry));
  }

  /** The whole history, less what a compaction stands for. */
  get sent(): unknown[] {
    return this.#sent.flatMap((entry) => (entry instanceof ToolRun ? (entry.output ?? []) : [entry]));
  }

  /** A compaction comes before anything of its turn, and stands for all but the newest turn before it. */
  add(item: OutputItem): void {
    this.#said.push(item);
    if (item.type !== 'compaction') {
      this.#sent.push(item);
      return;
    }
    this.#sent = [item, ...this.#sent.slice(this.#newestFrom)];
    this.#newestFrom = 1;
    this.#turnFrom = this.#sent.length;
  }

  /** The turn is over, and its tools are at work. */
  handOff(tools: readonly ToolRun[]): void {
    this.#said.push(...tools);
    this.#sent.push(...tools);
    this.#newestFrom = this.#turnFrom;
    this.#turnFrom = this.#sent.length;
  }
}
