import { test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { listen } from './listen.js';
import type { ListenOptions } from './socket.js';
import { WireClient, WireServer, wireAdapters } from './testing/adapters.js';
import { TApplication } from './testing/application.js';

const options: ListenOptions = {
  host: '127.0.0.1',
  port: 0,
  frameBytesMax: 2 ** 20,
  sendBufferBytesMax: 2 ** 16,
  pingMs: 20_000,
};

const loads = wireAdapters.some(({ name }) => name === 'uws');

/** What the native loader says with an old C library. */
const glibcFault = new Error(
  'This version of uWS.js supports only Node.js versions 16, 18, 20, 21, 22, 24 and 25 on (glibc) Linux.\n\n' +
    "Error: /lib/libc.so.6: version `GLIBC_2.38' not found (required by uws_linux_x64_127.node)",
);

async function echoes(server: WireServer, application: TApplication): Promise<void> {
  const client = await server.connect('/');
  const { socket } = await application.openings.next();
  socket.send(['hello']);
  assert.equal(await client.frames.next(), 'hello');
}

test('auto serves on uWebSockets.js where it loads, silently, and elsewhere on node:http with one line', async () => {
  const lines: string[] = [];
  const application = new TApplication();
  await using server = new WireServer(await listen('auto', application, options, (line) => lines.push(line)));
  assert.equal(server.listening.transport, loads ? 'uws' : 'node');
  assert.equal(lines.length, loads ? 0 : 1);
  await echoes(server, application);
});

test('auto falls back to node:http with one line that says why, and where the native build runs', async () => {
  const lines: string[] = [];
  const application = new TApplication();
  await using server = new WireServer(
    await listen(
      'auto',
      application,
      options,
      (line) => lines.push(line),
      () => Promise.reject(glibcFault),
    ),
  );
  assert.equal(server.listening.transport, 'node');
  assert.equal(lines.length, 1);
  const [line = ''] = lines;
  assert.doesNotMatch(line, /\n/);
  for (const part of [/GLIBC_2\.38' not found/, /glibc 2\.27/, /macOS/, /Serving on node:http/])
    assert.match(line, part);
  await echoes(server, application);
});

test('uws that cannot load is an error that says why and where it can', async () => {
  const fault = new Error("Cannot find package 'uWebSockets.js'");
  await assert.rejects(
    listen('uws', new TApplication(), options, assert.fail, () => Promise.reject(fault)),
    (thrown: Error) => {
      assert.match(thrown.message, /Cannot find package 'uWebSockets\.js'.*glibc 2\.27/);
      assert.equal(thrown.cause, fault);
      return true;
    },
  );
});

test('node never asks for the native library', async () => {
  const application = new TApplication();
  const listening = await listen('node', application, options, assert.fail, () => assert.fail());
  await using server = new WireServer(listening);
  assert.equal(listening.transport, 'node');
  await echoes(server, application);
});

test('a fault of the port is not a fault of the library: auto does not fall back', async () => {
  const fault = new Error('The port is taken.');
  await assert.rejects(
    listen('auto', new TApplication(), options, assert.fail, async () => () => Promise.reject(fault)),
    fault,
  );
});

for (const { name, start } of wireAdapters) {
  test(`${name}: a taken port is refused, and free again after close`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const { port } = server.listening;
    const kind = server.listening.transport;
    const again = () => listen(kind, application, { ...options, port }, assert.fail);
    await assert.rejects(again());
    await server.listening.close();
    await using second = new WireServer(await again());
    assert.equal(second.listening.port, port);
    await assert.rejects(again(), 'also where it was asked for by number');
    await echoes(second, application);
  });

  test(`${name}: after stopAccepting open sockets go on and new ones are refused; close drops them all`, async () => {
    const application = new TApplication();
    await using server = await start(application);
    const client = await server.connect('/');
    const { frames, socket, codes } = await application.openings.next();
    server.listening.stopAccepting();
    server.listening.stopAccepting();
    const late = new WireClient(server.url('/'));
    const [fault] = await once(late.webSocket, 'error');
    assert.equal((fault as NodeJS.ErrnoException).code, 'ECONNREFUSED');
    client.send('still here');
    assert.equal(await frames.next(), 'still here');
    socket.send(['so am I']);
    assert.equal(await client.frames.next(), 'so am I');
    await server.listening.close();
    assert.equal(await codes.next(), 1006);
    assert.equal((await client.closed).code, 1006);
    await server.listening.close();
  });
}
