/**
 * The file of a recording: appended to, in batches, behind a queue of bounded length. A disk that is slow costs lines,
 * one that refuses ends the recording; either is said once, and the server goes on.
 */
import { createWriteStream, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';

import {
  recordingFormat,
  recordingVersion,
  type Lines,
  type RecordedGap,
  type RecordedTurn,
  type RecordingHeader,
} from './record-lines.js';

/** Lines that may wait to be made: half a minute of 300 turns/s. */
const linesMax = 10_000;
/** Lines made in one turn of the event loop, about 10 µs each without text. */
const linesPerBatch = 64;
/** Characters that may wait for the disk. */
const charactersMax = 16 * 1024 * 1024;

export interface RecordingOptions {
  /** Says in the header whether texts are kept. */
  readonly text: boolean;
  /** Takes a sentence about what went wrong. */
  readonly complain: (sentence: string) => void;
  /** Default: now. */
  readonly startedAt?: Date;
}

export class Recording implements Lines, AsyncDisposable {
  readonly #stream: Writable;
  readonly #name: string;
  readonly #complain: (sentence: string) => void;
  #waiting: (() => RecordedTurn)[] = [];
  #scheduled = false;
  #isFull = false;
  #dropped = 0;
  #isSlow = false;
  #over = false;

  /** @param name what sentences call it. */
  constructor(stream: Writable, name: string, { text, complain, startedAt = new Date() }: RecordingOptions) {
    this.#stream = stream;
    this.#name = name;
    this.#complain = complain;
    const header: RecordingHeader = {
      format: recordingFormat,
      version: recordingVersion,
      started_at: startedAt.toISOString(),
      text,
    };
    stream.on('error', (fault) => this.#end(fault));
    stream.on('drain', () => {
      this.#isFull = false;
      this.#schedule();
    });
    this.#write([header]);
  }

  add(line: () => RecordedTurn): void {
    if (this.#over) return;
    if (this.#waiting.length < linesMax) this.#waiting.push(line);
    else this.#drop();
    this.#schedule();
  }

  /** Writes what is left, and closes. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#over) return;
    this.#flush(this.#waiting.length);
    this.#over = true;
    this.#stream.end();
    // What goes wrong now has been said already.
    await finished(this.#stream).catch(() => undefined);
  }

  #drop(): void {
    this.#dropped++;
    if (!this.#isSlow) this.#complain(`recording to ${this.#name}: the disk is too slow, turns are left out`);
    this.#isSlow = true;
  }

  #schedule(): void {
    if (this.#scheduled || this.#isFull || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#over) this.#flush(linesPerBatch);
      this.#schedule();
    });
  }

  #flush(count: number): void {
    const lines: (RecordedTurn | RecordedGap)[] = [];
    for (const line of this.#waiting.splice(0, count)) {
      try {
        lines.push(line());
      } catch (fault) {
        this.#complain(`recording to ${this.#name}: a turn is left out: ${String(fault)}`);
      }
    }
    if (this.#dropped > 0) lines.push({ type: 'dropped', turns: this.#dropped });
    this.#dropped = 0;
    this.#write(lines);
  }

  #write(lines: readonly object[]): void {
    if (lines.length === 0) return;
    this.#stream.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    this.#isFull = this.#stream.writableLength > charactersMax;
  }

  #end(fault: Error): void {
    if (!this.#over) this.#complain(`recording to ${this.#name} ended: ${fault.message}`);
    this.#over = true;
    this.#waiting = [];
  }
}

function isDirectory(path: string): boolean {
  return /[\\/]$/.test(path) || (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}

function nameFor(startedAt: Date): string {
  return `recording-${startedAt.toISOString().replaceAll(/[:.]/g, '-')}-${process.pid}.jsonl`;
}

/**
 * Records to a file, or to a new one in a directory, which is made where its name ends in a slash. A file that is there
 * is gone on with. Only its owner can read one that is made. Where it cannot be, `complain` says so and nothing is
 * recorded: null.
 */
export function openRecording(path: string, options: RecordingOptions): Recording | null {
  const startedAt = options.startedAt ?? new Date();
  try {
    const inside = isDirectory(path);
    if (inside) mkdirSync(path, { recursive: true });
    const file = inside ? join(path, nameFor(startedAt)) : path;
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const stream = createWriteStream(file, { flags: 'a', mode: 0o600 });
    // What a crash has cut short must not spoil the line after it.
    if (size > 0) stream.write('\n');
    return new Recording(stream, file, { ...options, startedAt });
  } catch (fault) {
    options.complain(`recording to ${path} ended: ${fault instanceof Error ? fault.message : String(fault)}`);
    return null;
  }
}
