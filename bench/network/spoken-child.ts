/** A child process that is spoken to, in a namespace or outside. It ends with this one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import { deferred } from '../../engine/index.js';

/** Puts a command where it is to run: `ip netns exec NAME` before it, or nothing. */
export type Wrap = (command: readonly string[]) => readonly string[];

export interface SpokenChild extends AsyncDisposable {
  readonly pid: number;
  /** What it says next, or said and nobody has heard. @throws Error where it ends before it says anything. */
  heard(): Promise<unknown>;
  /** Said to it, as a message of its `process`; what it does not live to hear is lost. */
  say(word: object): void;
}

/** @param module what it runs: a compiled file. */
export function startSpoken(
  module: URL,
  words: readonly string[],
  wrap: Wrap = (command) => command,
): SpokenChild {
  const script = fileURLToPath(module);
  const [program = '', ...rest] = wrap([process.execPath, script, ...words]);
  const child = spawn(program, rest, {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    // A group of its own: Ctrl-C in the terminal is for this process, which then ends that one.
    detached: true,
  });
  const { stderr } = child;
  if (stderr === null) throw new Error('a pipe was asked for');
  const said: unknown[] = [];
  const faults: string[] = [];
  let waiting = deferred<void>();
  const wake = (): void => {
    waiting.resolve();
    waiting = deferred<void>();
  };
  stderr.on('data', (piece: Buffer) => faults.push(piece.toString()));
  child.on('message', (word) => {
    said.push(word);
    wake();
  });
  // Not `close`, which never comes where this side lets go of the channel first.
  const exited = Promise.race([
    Promise.all([once(child, 'exit'), once(stderr, 'close')]),
    once(child, 'error').then(([fault]) => faults.push(String(fault))),
  ]);
  const state = { ended: false };
  void exited.then(() => {
    state.ended = true;
    wake();
  });
  return {
    pid: child.pid ?? 0,
    async heard() {
      while (said.length === 0) {
        if (state.ended || child.pid === undefined)
          throw new Error(`${basename(script)} ended before it said anything: ${faults.join('').trim()}`);
        await waiting.promise;
      }
      return said.shift();
    },
    say(word) {
      if (child.connected) child.send(word);
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
