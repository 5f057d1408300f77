import { test } from 'node:test';
import assert from 'node:assert/strict';

import { OpenSocket, type Wire } from './open-socket.js';
import type { Application, Socket } from './socket.js';

/** A socket whose session writes down what it gets and answers every frame; `said` is in the order it happened. */
function opened(onFrame?: (socket: Socket, text: string | null) => void) {
  const said: string[] = [];
  const wire: Wire = {
    write: (frames) => said.push(...frames.map((frame) => `sent ${frame}`)),
    bufferedBytes: () => 0,
    end: (code) => said.push(`ended ${code}`),
  };
  const application: Application = {
    admit: () => null,
    opened(socket) {
      socket.onFrame = (text) => {
        said.push(`got ${text}`);
        onFrame?.(socket, text);
        socket.send([`answer to ${text}`]);
      };
      return (code) => said.push(`closed ${code}`);
    },
    answer: () => ({ status: 404, contentType: 'text/plain', body: '' }),
  };
  const socket = new OpenSocket(application, wire, { frameBytesMax: 8, sendBufferBytesMax: 1024 });
  socket.begin({ path: '/', query: new URLSearchParams(), headers: new Map() });
  return { socket, said };
}

/** The end of this turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('a frame that arrives inside a callback of the library reaches the session after it, although its buffer is gone', async () => {
  const { socket, said } = opened();
  const buffer = Buffer.from('one');
  socket.receivedInside(buffer, false);
  buffer.fill(0);
  socket.receivedInside(Buffer.from('two'), false);
  socket.receivedInside(Buffer.from('x'), true);
  await Promise.resolve();
  assert.deepEqual(said, []);
  await turn();
  const both = ['got one', 'sent answer to one', 'got two', 'sent answer to two'];
  assert.deepEqual(said, [...both, 'got null', 'sent answer to null']);
});

test('frames that wait reach the session although the peer goes, and nothing is written to it', async () => {
  const { socket, said } = opened();
  socket.receivedInside(Buffer.from('one'), false);
  socket.gone(1006);
  await turn();
  assert.deepEqual(said, ['got one', 'closed 1006']);
});

test('after our own close no frame that waits reaches the session, and the code is ours', async () => {
  const { socket, said } = opened((own) => own.close(1008, 'enough'));
  socket.receivedInside(Buffer.from('one'), false);
  socket.receivedInside(Buffer.from('two'), false);
  socket.gone(1006);
  await turn();
  assert.deepEqual(said, ['got one', 'closed 1008']);
});

test('a frame that is too long closes the socket behind those that wait', async () => {
  const { socket, said } = opened();
  socket.receivedInside(Buffer.from('one'), false);
  socket.receivedInside(Buffer.from('far too long'), false);
  socket.receivedInside(Buffer.from('two'), false);
  await turn();
  assert.deepEqual(said, ['got one', 'sent answer to one', 'ended 1009', 'closed 1009']);
});
