/** The thread of `waking-thread.ts`: sleeps until the time that stands in the memory, says so, and waits for the next. */
import { parentPort, workerData } from 'node:worker_threads';

import type { AlarmMemory } from './waking-thread.js';

const { due, settings }: AlarmMemory = workerData;

function wake(): void {
  parentPort?.postMessage(null, []);
}

/** Waits for the first setting, and then for what each one says. */
function run(): void {
  let seen = 0;
  Atomics.wait(settings, 0, seen);
  for (;;) {
    seen = Atomics.load(settings, 0);
    const at = Atomics.load(due, 0);
    if (at < 0n) return;
    const leftMs = Number(at - process.hrtime.bigint()) / 1e6;
    // A setting that came meanwhile has changed the number, and the wait is over at once.
    if (leftMs > 0 && Atomics.wait(settings, 0, seen, leftMs) !== 'timed-out') continue;
    wake();
    Atomics.wait(settings, 0, seen);
  }
}

wake();
run();
