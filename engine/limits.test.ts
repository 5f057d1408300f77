import { test } from 'node:test';
import assert from 'node:assert/strict';

import { limitsWith, limitTable, type LimitName } from './limits.js';
import { ProtocolError } from './protocol/errors.js';

test('every limit ends in its unit, gives its reason and has a default that is a bound', () => {
  for (const [name, { default: value, reason }] of Object.entries(limitTable)) {
    assert.match(name, /(?:Max|Ms)$/, name);
    assert.ok(value > 0, name);
    assert.ok(reason.length >= 20 && reason.endsWith('.') && !reason.endsWith('..'), `${name}: ${reason}`);
  }
});

test('every limit names an error that exists, a close code, or an outcome', () => {
  for (const [name, { error }] of Object.entries(limitTable)) {
    if (error === 'outcome') continue;
    if (typeof error === 'number') assert.ok(error >= 1000 && error < 5000, name);
    else assert.ok(new ProtocolError(error, 'x').status >= 400, name);
  }
});

test('the defaults are those the protocol states', () => {
  const limits = limitsWith();
  const minuteMs = 60_000;
  const MiB = 1024 * 1024;
  const stated: Partial<Record<LimitName, number>> = {
    suspensionMsMax: 60 * minuteMs,
    graceMsMax: 10 * minuteMs,
    socketAgeMsMax: 60 * minuteMs,
    keepaliveMs: 30_000,
    frameBytesMax: 16 * MiB,
    outputBytesMax: 10 * MiB,
    rolloutMsMax: Infinity,
  };
  for (const [name, value] of Object.entries(stated)) assert.equal(Reflect.get(limits, name), value, name);
  assert.deepEqual(Object.keys(limits), Object.keys(limitTable));
});

test('an override replaces its limit and no other', () => {
  const limits = limitsWith({ turnsMax: 3, rolloutMsMax: 2 ** 40 });
  assert.deepEqual(limits, { ...limitsWith(), turnsMax: 3, rolloutMsMax: 2 ** 40 });
  assert.deepEqual(limitsWith({ graceMsMax: 0, suspensionMsMax: Infinity }).graceMsMax, 0);
});

for (const wrong of [-1, NaN, undefined, null, 'ten'])
  test(`a limit of ${String(wrong)} is refused by name`, () => {
    const overrides = { turnsMax: wrong } as unknown as Parameters<typeof limitsWith>[0];
    assert.throws(
      () => limitsWith(overrides),
      (fault) => fault instanceof RangeError && /turnsMax/.test(fault.message),
    );
  });

test('a limit that does not exist is refused by name', () => {
  const overrides = { turnMax: 3 } as unknown as Parameters<typeof limitsWith>[0];
  assert.throws(
    () => limitsWith(overrides),
    (fault) => fault instanceof RangeError && /turnMax/.test(fault.message),
  );
});
