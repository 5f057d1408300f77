/** For `probe`: `node probe-server.js ADDRESS`. Answers two bytes when a body, whose length stands before it, is whole. */
import { createServer, type Socket } from 'node:net';

import { portOf } from './tls-front.js';

const lengthBytes = 4;

function answer(socket: Socket): void {
  const state = { left: 0, head: Buffer.alloc(0) };
  socket.on('data', (chunk) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (state.left === 0) {
        const head = Buffer.concat([state.head, rest]);
        if (head.length < lengthBytes) {
          state.head = head;
          return;
        }
        state.head = Buffer.alloc(0);
        state.left = head.readUInt32BE();
        rest = head.subarray(lengthBytes);
      }
      const taken = Math.min(state.left, rest.length);
      state.left -= taken;
      rest = rest.subarray(taken);
      if (state.left === 0) socket.write('ok');
    }
  });
  socket.on('error', () => socket.destroy());
}

const server = createServer({ noDelay: true }, answer);
server.listen(0, process.argv[2], () => process.send?.(portOf(server.address())));
process.once('disconnect', () => process.exit(0));
