import { test } from 'node:test';
import assert from 'node:assert/strict';

import { initialWindowBytes, type NetworkModel } from './model.js';
import { rtoMs, Uplink, windowAfterPause, windowAfterUpload } from './uplink.js';

const network: NetworkModel = {
  rttMs: 50,
  bytesPerSecond: Infinity,
  restartsAfterIdle: true,
  connection: 'kept',
  tls: false,
};
const segment = 1460;

/** What an upload takes beyond half a round trip, in round trips, each so long after the last byte of the one before. */
function waits(uplink: Uplink, bytes: number, pausesMs: readonly number[]): number[] {
  let at = 0;
  return pausesMs.map((pauseMs) => {
    at += pauseMs;
    const arrivesAt = uplink.send(bytes, at);
    const waited = (arrivesAt - at - network.rttMs / 2) / network.rttMs;
    at = arrivesAt - network.rttMs / 2;
    return waited;
  });
}

test('a pause no longer than the retransmission timeout leaves the window as it was; each further one halves it', () => {
  assert.equal(rtoMs(50), 250);
  const window = 100 * segment;
  const left = [0, 250, 251, 500, 501, 751, 3000].map(
    (pauseMs) => windowAfterPause(window, pauseMs, 50) / segment,
  );
  assert.deepEqual(left, [100, 100, 50, 50, 25, 12.5, 10]);
});

test('no pause leaves more than there was', () => {
  assert.equal(windowAfterPause(2 * segment, 3000, 50), 2 * segment);
});

test('a window grows by what is acknowledged, to at most twice what was on the way at once', () => {
  // The kernel's own figure (`ss -ti`, cubic): 207 segments from a new connection leave a window of 217.
  assert.equal(windowAfterUpload(10 * segment, 207 * segment) / segment, 217);
  assert.equal(windowAfterUpload(10 * segment, 20 * segment) / segment, 30);
  assert.equal(windowAfterUpload(10 * segment, 3 * segment) / segment, 10);
  assert.equal(windowAfterUpload(27 * segment, 20 * segment) / segment, 40);
});

test('the first upload of a connection starts small; the next one, in time, goes at once', () => {
  assert.deepEqual(waits(new Uplink(network), 29_000, [0, 125, 125]), [1, 0, 0]);
});

test('after pauses beyond the timeout a create waits a round trip each time, and an append none', () => {
  assert.deepEqual(waits(new Uplink(network), 29_000, [0, 505, 505, 505]), [1, 1, 1, 1]);
  assert.deepEqual(waits(new Uplink(network), 4000, [0, 505, 505, 505]), [0, 0, 0, 0]);
});

test('a window that a whole history opened carries the next one, or half of it after one timeout', () => {
  assert.deepEqual(waits(new Uplink(network), 300_000, [0, 200]), [4, 0]);
  assert.deepEqual(waits(new Uplink(network), 300_000, [0, 300, 3000]), [4, 1, 4]);
});

test('open windows never wait, and a connection for each turn waits each time', () => {
  const open = new Uplink({ ...network, restartsAfterIdle: false });
  assert.deepEqual(waits(open, 300_000, [0, 3000]), [0, 0]);
  const perTurn = new Uplink({ ...network, connection: 'per-turn' });
  assert.deepEqual(waits(perTurn, 29_000, [0, 10]), [1, 1]);
  assert.equal(new Uplink({ ...network, bytesPerSecond: 1000 }).send(initialWindowBytes, 7), 7 + 25 + 14_600);
});
