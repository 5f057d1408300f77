/**
 * A process of its own: carries packets between two macvtap devices, each direction late by half of a round trip and not
 * faster than the rate. `node packet-pump.js TAP TAP DELAY_MS BYTES_PER_SECOND`; says `ready` to its parent, and ends
 * with it. It goes before other processes (nice −20), because what it is late by is round trip; a packet is due by the
 * time at which it was read, so that being late once does not add up.
 *
 * A packet comes with a header of 10 bytes (the state of its checksum), which is handed on unchanged.
 */
import { openSync, writeSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';

import { systemClock } from '../../engine/index.js';
import { DelayLine, type Link } from './delay-line.js';
import { millisecondsNow } from './packet-time.js';
import { PreciseClock } from './precise-clock.js';

const headerBytes = 10;
/** Bytes on the way, each direction, above which packets are dropped: a long router queue. */
const bytesMax = 16 * 1024 * 1024;

function end(): never {
  // A blocked read holds its thread, for which an ordinary exit would wait.
  process.kill(process.pid, 'SIGKILL');
  throw new Error('this process has been killed');
}

function pump(from: number, to: number, link: Link): void {
  const line = new DelayLine<Uint8Array>(clock, link, (packet) => {
    writeSync(to, packet);
    return true;
  });
  const reader = new Worker(new URL('./packet-reader.js', import.meta.url), { workerData: from });
  reader.on('message', ([readAt, packet]: [number, Uint8Array]) => {
    if (line.bytes >= bytesMax) return;
    const age = millisecondsNow() - readAt;
    line.push(packet, packet.length - headerBytes, systemClock.now() - age);
  });
  reader.once('error', end);
}

const [tapA = '', tapB = '', delayMs, bytesPerSecond] = process.argv.slice(2);
const link: Link = { delayMs: Number(delayMs), bytesPerSecond: Number(bytesPerSecond) };
setPriority(-20);
const clock = await PreciseClock.open();
const [a, b] = [openSync(tapA, 'r+'), openSync(tapB, 'r+')];
process.once('disconnect', end);
pump(a, b, link);
pump(b, a, link);
process.send?.('ready');
