/**
 * Waiting for a signal's abort at little cost. To set a listener on an AbortSignal and unset it takes microseconds, and
 * every turn of a rollout waits twice; so those who wait for one signal share one listener.
 *
 *   B1  While nobody waits, a signal has no listener of ours (S3).
 *   B2  Whoever has been disposed of is not called any more.
 */
import { addAbortListener } from 'node:events';

interface Shared {
  readonly waiting: Set<() => void>;
  readonly listener: Disposable;
}

const sharedBySignal = new WeakMap<AbortSignal, Shared>();

function listen(signal: AbortSignal): Shared {
  const waiting = new Set<() => void>();
  const listener = addAbortListener(signal, () => {
    for (const callback of waiting) callback();
  });
  return { waiting, listener };
}

/** Calls back once when the signal aborts, a microtask later where it has; dispose of it to wait no longer. */
export function onAbort(signal: AbortSignal, callback: () => void): Disposable {
  if (signal.aborted) return addAbortListener(signal, callback);
  let shared = sharedBySignal.get(signal);
  if (shared === undefined) sharedBySignal.set(signal, (shared = listen(signal)));
  const { waiting, listener } = shared;
  waiting.add(callback);
  return {
    [Symbol.dispose]() {
      if (!waiting.delete(callback) || waiting.size > 0) return; // B1
      listener[Symbol.dispose]();
      sharedBySignal.delete(signal);
    },
  };
}
