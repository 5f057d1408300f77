/**
 * For `probe`: `node probe-client.js ADDRESS PORT ROUNDS`. Sends bodies over kept connections, one each for every size,
 * shortly after the body before it and after three seconds, and over a new connection, and says how long each took.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

import type { ProbeTimes } from '../schema/probe.js';

const sizes = [2_000, 20_000, 120_000, 480_000];
/** The gap in which the window is kept, and the one after which it is not. */
const gaps = { short: 50, idle: 3_000 };
const echoes = 21;
const warmUps = 3;

const [address = '', port, rounds] = process.argv.slice(2);

async function open(): Promise<Socket> {
  const socket = connect({ host: address, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Time from the send of a body of so many bytes to its answer, in ms. */
async function askMs(socket: Socket, bytes: number): Promise<number> {
  const body = Buffer.alloc(4 + bytes, 'x');
  body.writeUInt32BE(bytes);
  const began = performance.now();
  socket.write(body);
  await once(socket, 'data');
  return performance.now() - began;
}

async function sizeTimes(bytes: number): Promise<ProbeTimes[]> {
  const socket = await open();
  const [short, idle, fresh]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < Number(rounds); round++) {
    // The window grows to what the largest body needs before anything counts.
    for (let warm = 0; warm < warmUps; warm++) await askMs(socket, Math.max(...sizes));
    await pause(gaps.short);
    short.push(await askMs(socket, bytes));
    await pause(gaps.idle);
    idle.push(await askMs(socket, bytes));
    const began = performance.now();
    const other = await open();
    await askMs(other, bytes);
    fresh.push(performance.now() - began);
    other.destroy();
  }
  socket.destroy();
  return [
    { bytes, connection: 'kept', gap_ms: gaps.short, took_ms: short },
    { bytes, connection: 'kept', gap_ms: gaps.idle, took_ms: idle },
    { bytes, connection: 'per-turn', gap_ms: 0, took_ms: fresh },
  ];
}

async function echoTimes(): Promise<ProbeTimes> {
  const socket = await open();
  const took_ms: number[] = [];
  for (let echo = 0; echo < echoes; echo++) took_ms.push(await askMs(socket, 1));
  socket.destroy();
  return { bytes: 1, connection: 'kept', gap_ms: 0, took_ms };
}

const times = [await echoTimes()];
/** Each size begins a little after the one before it, so that their bodies do not meet on the path. */
const begun = sizes.map(async (bytes, index) => {
  await pause(index * 700);
  return sizeTimes(bytes);
});
for (const rows of await Promise.all(begun)) times.push(...rows);
process.send?.(times, () => process.exit(0));
