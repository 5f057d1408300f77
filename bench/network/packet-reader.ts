/**
 * The pump's worker: reads one device, which is its data, and posts each packet with the time at which it was read
 * (`process.hrtime`, in ms, the same in every thread). It blocks in the read, since Node waits for such a device in no
 * other way; on a thread of its own a burst costs no switch between threads for every packet.
 */
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

import { millisecondsNow } from './packet-time.js';

/** More than any packet, one that was not segmented included. */
const packet = Buffer.allocUnsafe(65_536 + 256);
const device = Number(workerData);

for (;;) {
  const bytes = readSync(device, packet);
  const copy = new Uint8Array(packet.subarray(0, bytes));
  parentPort?.postMessage([millisecondsNow(), copy], [copy.buffer]);
}
