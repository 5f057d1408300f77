import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { startRelay } from './start-relay.js';
import { portOf } from './tls-front.js';

test('a relay in a process of its own carries bytes both ways, and ends with what started it', async () => {
  const origin = createServer((socket) => socket.pipe(socket));
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  {
    await using relay = await startRelay({
      to: { host: '127.0.0.1', port: portOf(origin.address()) },
      rttMs: 0,
    });
    const client = connect(relay.port, '127.0.0.1');
    client.end('there and back');
    assert.equal(await text(client), 'there and back');
  }
  origin.close();
  await once(origin, 'close');
});

test('a relay that cannot be is refused with what its process said', async () => {
  await assert.rejects(startRelay({ to: { host: '127.0.0.1', port: 1 }, rttMs: -1 }), /no time/);
});
