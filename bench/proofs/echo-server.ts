/** A bare echo on uWebSockets.js: one frame back for each frame in, of as many bytes as the frame's first word says. */
import uws from 'uWebSockets.js';

import { offer } from './child.js';

/** The answers by their length, made once. */
const answers = new Map<number, Buffer>();

function answerOf(bytes: number): Buffer {
  const known = answers.get(bytes);
  if (known !== undefined) return known;
  const made = Buffer.alloc(bytes, 'x');
  answers.set(bytes, made);
  return made;
}

const app = uws.App();
app.ws('/*', {
  maxPayloadLength: 1024 * 1024,
  message(socket, frame) {
    socket.send(answerOf(Number(Buffer.from(frame).toString('latin1', 0, 8))), false);
  },
});
app.listen('127.0.0.1', 0, (listening) => {
  if (listening === false) throw new Error('the echo found no port');
  offer(`http://127.0.0.1:${uws.us_socket_local_port(listening)}`);
});
