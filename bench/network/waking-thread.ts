/** A thread that wakes this one at a given time. It sleeps the rest, and does not keep the process alive. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Alarm extends AsyncDisposable {
  onWake: () => void;
  /** Wakes once, after so many milliseconds with fractions, in place of what was set before. */
  wakeAfter(ms: number): void;
}

/** What the two threads share. */
export interface AlarmMemory {
  /** `process.hrtime.bigint()` of the next wake; below 0 the thread ends. */
  readonly due: BigInt64Array<SharedArrayBuffer>;
  /** Counts settings: the thread waits for the next. */
  readonly settings: Int32Array<SharedArrayBuffer>;
}

/** @throws Error where no thread can be started. */
export async function openWakingThread(): Promise<Alarm> {
  const memory: AlarmMemory = {
    due: new BigInt64Array(new SharedArrayBuffer(8)),
    settings: new Int32Array(new SharedArrayBuffer(4)),
  };
  const set = (due: bigint): void => {
    Atomics.store(memory.due, 0, due);
    Atomics.add(memory.settings, 0, 1);
    Atomics.notify(memory.settings, 0);
  };
  const worker = new Worker(new URL('./alarm-worker.js', import.meta.url), { workerData: memory });
  await once(worker, 'message');
  const alarm: Alarm = {
    onWake: () => undefined,
    wakeAfter: (ms) => set(process.hrtime.bigint() + BigInt(Math.max(Math.round(ms * 1e6), 0))),
    async [Symbol.asyncDispose]() {
      const ended = once(worker, 'exit');
      worker.ref();
      set(-1n);
      await ended;
    },
  };
  worker.on('message', () => alarm.onWake());
  worker.unref();
  return alarm;
}
