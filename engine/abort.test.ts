import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { onAbort } from './abort.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('those who wait for one signal share one listener, and it goes with the last of them (B1)', () => {
  const { signal } = new AbortController();
  const first = onAbort(signal, () => undefined);
  const second = onAbort(signal, () => undefined);
  assert.equal(listeners(signal), 1);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(listeners(signal), 1);
  second[Symbol.dispose]();
  assert.equal(listeners(signal), 0);
  using _again = onAbort(signal, () => undefined);
  assert.equal(listeners(signal), 1);
});

test('an abort calls everybody who waits, once, and nobody who has left (B2)', () => {
  const controller = new AbortController();
  const called: string[] = [];
  const left = onAbort(controller.signal, () => called.push('left'));
  onAbort(controller.signal, () => {
    called.push('first');
    evicted[Symbol.dispose]();
  });
  const evicted = onAbort(controller.signal, () => called.push('evicted'));
  onAbort(controller.signal, () => called.push('last'));
  left[Symbol.dispose]();
  controller.abort();
  controller.abort();
  assert.deepEqual(called, ['first', 'last']);
  assert.equal(listeners(controller.signal), 0);
});

test('a signal that has aborted calls back a microtask later', async () => {
  const called: string[] = [];
  onAbort(AbortSignal.abort(), () => called.push('late'));
  assert.deepEqual(called, []);
  await Promise.resolve();
  assert.deepEqual(called, ['late']);
});

test('another listener that stops the event keeps nobody from hearing of the abort', () => {
  const controller = new AbortController();
  const called: string[] = [];
  controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
  onAbort(controller.signal, () => called.push('heard'));
  controller.abort();
  assert.deepEqual(called, ['heard']);
});
