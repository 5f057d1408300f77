import { test } from 'node:test';
import assert from 'node:assert/strict';

import { downloadMs, extraRoundTrips, oneWayMs, setupMs, setupPerTurnMs, uploadMs } from './model.js';
import type { NetworkModel } from './model.js';

const network: NetworkModel = {
  rttMs: 50,
  bytesPerSecond: Infinity,
  restartsAfterIdle: true,
  connection: 'kept',
  tls: false,
};

test('the idle rows of the probe come out: 2, 20, 120 and 480 KB take 1, 2, 4 and 6 round trips', () => {
  const rows = [2_000, 20_000, 120_000, 480_000];
  assert.deepEqual(
    rows.map((bytes) => (uploadMs(network, bytes) + downloadMs(network)) / network.rttMs),
    [1, 2, 4, 6],
  );
});

test('a window that is exactly filled needs no further round trip, and nothing takes none', () => {
  assert.equal(extraRoundTrips(0), 0);
  assert.equal(extraRoundTrips(14_600), 0);
  assert.equal(extraRoundTrips(14_601), 1);
  assert.equal(extraRoundTrips(3 * 14_600), 1);
  assert.equal(extraRoundTrips(30_000, 10_000), 1);
});

test('a kept connection that keeps its window takes one round trip whatever the size', () => {
  const warm = { ...network, restartsAfterIdle: false };
  assert.equal(uploadMs(warm, 480_000), 25);
  assert.equal(uploadMs({ ...warm, connection: 'per-turn' }, 480_000), 25 + 5 * 50);
});

test('a rate is paid once for every byte', () => {
  const narrow = { ...network, restartsAfterIdle: false, bytesPerSecond: 1_000_000 };
  assert.equal(oneWayMs(narrow, 100_000), 125);
  assert.equal(uploadMs(narrow, 100_000), 125);
});

test('a connection is set up in a round trip for TCP, one for TLS and one for an upgrade', () => {
  assert.equal(setupMs(network, 'http'), 50);
  assert.equal(setupMs(network, 'ws'), 100);
  assert.equal(setupMs({ ...network, tls: true }, 'ws'), 150);
  assert.equal(setupMs(network, 'http', true), 100);
  assert.equal(setupPerTurnMs(network, 'ws'), 0);
  assert.equal(setupPerTurnMs({ ...network, connection: 'per-turn', tls: true }, 'http'), 100);
});
