import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred, VirtualClock } from './clock.js';
import { ProtocolError } from './protocol/errors.js';
import { orAbort, Watch } from './watch.js';

/** A source whose steps are given by hand, and which hears no signal. */
class HandSource implements AsyncIterable<string>, AsyncIterator<string> {
  step = deferred<IteratorResult<string>>();
  returned = 0;

  [Symbol.asyncIterator](): this {
    return this;
  }
  next(): Promise<IteratorResult<string>> {
    return this.step.promise;
  }
  return(): Promise<IteratorResult<string>> {
    this.returned++;
    return Promise.reject(new Error('its own clean-up failed'));
  }
  say(value: string): void {
    const { resolve } = this.step;
    this.step = deferred();
    resolve({ done: false, value });
  }
}

async function* saying(...words: readonly string[]): AsyncGenerator<string, void> {
  for (const word of words) yield word;
}

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('the steps of a source come as they are, and its end ends it', async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  using watch = new Watch(saying('a', 'b'), signal, clock, 1000);
  assert.deepEqual(await watch.next(), { done: false, value: 'a' });
  assert.deepEqual(await watch.next(), { done: false, value: 'b' });
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
});

test('a turn has one listener and one timer, however many steps it has, and none when it is over (W1, S3)', async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const words = Array.from({ length: 1000 }, () => 'word');
  {
    using watch = new Watch(saying(...words), signal, clock, 1000);
    for (;;) {
      const step = await watch.next();
      assert.deepEqual([listeners(signal), clock.pending], [1, 1]);
      if (step.done === true) break;
    }
  }
  assert.deepEqual([listeners(signal), clock.pending], [0, 0]);
});

test('the fault of a source is the fault of the step', async () => {
  const fault = new Error('broken');
  const source = new HandSource();
  using watch = new Watch(source, new AbortController().signal, new VirtualClock(), 1000);
  const step = watch.next();
  source.step.reject(fault);
  await assert.rejects(step, (thrown) => thrown === fault);
});

test('a source that throws in place of a promise fails the step', async () => {
  const source: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        throw new Error('at once');
      },
    }),
  };
  using watch = new Watch(source, new AbortController().signal, new VirtualClock(), 1000);
  await assert.rejects(watch.next(), /at once/);
});

test('a silence fails the turn at its bound, however often the source spoke before (B60)', async () => {
  const clock = new VirtualClock();
  const source = new HandSource();
  using watch = new Watch(source, new AbortController().signal, clock, 1000);
  for (let count = 0; count < 5; count++) {
    const step = watch.next();
    await clock.advance(999);
    source.say('still here');
    assert.equal((await step).value, 'still here');
  }
  let over = false;
  const silent = watch.next();
  silent.then(undefined, () => {
    over = true;
  });
  await clock.advance(999);
  assert.equal(over, false);
  await clock.advance(1);
  await assert.rejects(silent, (fault) => {
    assert.ok(fault instanceof ProtocolError);
    assert.deepEqual([fault.code, fault.message.includes('1000 ms')], ['server_error', true]);
    return true;
  });
  await assert.rejects(watch.next(), ProtocolError);
});

test('without a bound no timer is set', () => {
  const clock = new VirtualClock();
  using _watch = new Watch(new HandSource(), new AbortController().signal, clock, Infinity);
  assert.equal(clock.pending, 0);
});

test('an abort ends the step of a deaf source with its reason, and every step after it (W2, P81)', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const source = new HandSource();
  const reason = new Error('cancelled');
  {
    using watch = new Watch(source, controller.signal, clock, 1000);
    const step = watch.next();
    controller.abort(reason);
    await assert.rejects(step, (fault) => fault === reason);
    await assert.rejects(watch.next(), (fault) => fault === reason);
    assert.equal(source.returned, 0);
  }
  assert.equal(source.returned, 1, 'it is asked to return, and what comes of that is its own affair');
  assert.deepEqual([listeners(controller.signal), clock.pending], [0, 0]);
  source.say('nobody hears this');
  await clock.advance(5000);
});

test('a signal that has aborted before the first step ends the turn', async () => {
  const clock = new VirtualClock();
  using watch = new Watch(new HandSource(), AbortSignal.abort('gone'), clock, 1000);
  const step = watch.next();
  await assert.rejects(step, (fault) => fault === 'gone');
});

test('work is waited for until the signal aborts, and leaves no listener (S3)', async () => {
  const controller = new AbortController();
  assert.equal(await orAbort(Promise.resolve(7), controller.signal), 7);
  await assert.rejects(orAbort(Promise.reject(new Error('its own')), controller.signal), /its own/);
  const deaf = deferred<void>();
  const wait = orAbort(deaf.promise, controller.signal);
  assert.equal(listeners(controller.signal), 1);
  controller.abort('enough');
  await assert.rejects(wait, (fault) => fault === 'enough');
  assert.equal(listeners(controller.signal), 0);
});

test('a fault of work that nobody waits for any more is no unhandled rejection', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const controller = new AbortController();
  const works = [deferred<void>(), deferred<void>()];
  const first = orAbort(works[0]?.promise ?? Promise.resolve(), controller.signal);
  controller.abort('enough');
  const second = orAbort(works[1]?.promise ?? Promise.resolve(), controller.signal);
  await assert.rejects(first);
  await assert.rejects(second);
  for (const work of works) work.reject(new Error('late'));
  await new VirtualClock().advance(0);
  assert.equal(unhandled.mock.callCount(), 0);
});
