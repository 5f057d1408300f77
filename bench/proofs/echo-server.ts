/**
 * What an append is measured against, on uWebSockets.js alone. A frame's first word says what to do:
 *
 *   echo BYTES …     sends one frame of so many bytes back.
 *   keep JSON        keeps the frames of a turn, an array of events, for `floor`. Answers nothing.
 *   floor US JSON    keeps busy for so many microseconds, parses the JSON, and sends the events that were kept,
 *                    serialised anew, in one write: what any server of these frames has to do, and nothing else.
 */
import uws, { type WebSocket } from 'uWebSockets.js';

import { offer } from './child.js';

/** The answers to `echo` by their length, made once. */
const answers = new Map<number, Buffer>();
let kept: unknown[] = [];

function answerOf(bytes: number): Buffer {
  const known = answers.get(bytes);
  if (known !== undefined) return known;
  const made = Buffer.alloc(bytes, 'x');
  answers.set(bytes, made);
  return made;
}

function keepBusy(us: number): void {
  const until = performance.now() + us / 1000;
  while (performance.now() < until);
}

function onFrame(socket: WebSocket<unknown>, text: string): void {
  const word = text.slice(0, text.indexOf(' '));
  const number = Number.parseInt(text.slice(word.length + 1, word.length + 9), 10);
  if (word === 'echo') socket.send(answerOf(number), false);
  if (word === 'keep') {
    const events: unknown = JSON.parse(text.slice(word.length));
    kept = Array.isArray(events) ? events : [];
  }
  if (word !== 'floor') return;
  keepBusy(number);
  JSON.parse(text.slice(text.indexOf('{')));
  socket.cork(() => {
    for (const event of kept) socket.send(JSON.stringify(event), false);
  });
}

const app = uws.App();
app.ws('/*', {
  maxPayloadLength: 1024 * 1024,
  message: (socket, frame) => onFrame(socket, Buffer.from(frame).toString()),
});
app.listen('127.0.0.1', 0, 0, (listening) => {
  if (listening === false) throw new Error('the echo found no port');
  offer(`http://127.0.0.1:${uws.us_socket_local_port(listening)}`);
});
