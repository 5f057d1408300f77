import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Stream } from './socket.js';
import { adapters, tBounds } from './testing/adapters.js';
import type { TStream } from './testing/adapters.js';
import { turn } from './testing/application.js';
import { THttpApplication, untilGone } from './testing/streaming.js';

const textBytes = 65_536;
/** 32 MiB: more than the kernel takes of one connection, over both its ends. */
const textsMax = 512;

const numbered = (index: number): string => `${index}:`.padEnd(textBytes, '.');

const all = Array.from({ length: textsMax }, (_, index) => numbered(index));

/** Sends so much at once that the buffer stays over its bound, however much the kernel still takes. */
function flood(stream: Stream): void {
  assert.equal(stream.send(all), false);
}

/** Reads as many characters, however they are cut. */
async function read({ chunks }: TStream, length: number): Promise<string> {
  const texts: string[] = [];
  for (let missing = length; missing > 0; missing -= texts.at(-1)?.length ?? 0)
    texts.push(await chunks.next());
  return texts.join('');
}

for (const { name, start } of adapters) {
  test(`${name}: a client that does not read stops the stream, and wakes it by reading`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const { stream } = await application.openings.next();
    client.pause();
    flood(stream);
    let isAwake = false;
    const awake = stream.drained().then(() => {
      isAwake = true;
    });
    await turn();
    assert.equal(isAwake, false);
    client.resume();
    await awake;
    assert.equal(stream.send(['more']), true);
    stream.end();
    assert.equal(await read(client, textsMax * textBytes + 4), `${all.join('')}more`);
    await client.ended;
  });

  test(`${name}: a stream that waits whenever it is told to sends all to a client that stops and goes`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const { stream, closings } = await application.openings.next();
    client.pause();
    let waits = 0;
    const sending = (async () => {
      for (const text of all) {
        if (stream.send([text])) continue;
        waits += 1;
        client.resume();
        await stream.drained();
        client.pause();
      }
      stream.end();
      client.resume();
    })();
    assert.equal(await read(client, textsMax * textBytes), all.join(''));
    await sending;
    await client.ended;
    await closings.next();
    assert.ok(waits > 0);
  });

  test(`${name}: of two stopped streams each is woken by its own client`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const woken: string[] = [];
    const stop = async (label: string) => {
      const client = await server.stream('POST', '/');
      const { stream } = await application.openings.next();
      client.pause();
      flood(stream);
      return { client, awake: stream.drained().then(() => woken.push(label)) };
    };
    const first = await stop('first');
    const second = await stop('second');
    second.client.resume();
    await second.awake;
    await turn();
    assert.deepEqual(woken, ['second']);
    first.client.resume();
    await first.awake;
    assert.deepEqual(woken, ['second', 'first']);
  });

  test(`${name}: a stopped stream is woken when its client goes, after it was told`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const { stream, closings } = await application.openings.next();
    client.pause();
    flood(stream);
    const waiting = stream.drained();
    client.drop();
    await waiting;
    assert.deepEqual(closings.received, ['closed']);
  });

  test(`${name}: what was sent before the end goes out to a client that reads late`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const { stream, closings } = await application.openings.next();
    client.pause();
    flood(stream);
    stream.end();
    await closings.next();
    client.resume();
    assert.equal(await read(client, textsMax * textBytes), all.join(''));
    await client.ended;
  });

  test(`${name}: an application that sends on without waiting costs bounded memory, then its stream is cut`, async () => {
    const application = new THttpApplication();
    await using server = await start(application);
    const client = await server.stream('POST', '/');
    const exchange = await application.exchanges.next();
    const { stream, closings } = await application.openings.next();
    client.pause();
    let sent = 0;
    while (stream.send([numbered(sent)])) sent += 1;
    for (let index = sent + 1; index < textsMax; index += 1) stream.send([numbered(index)]);
    assert.deepEqual(closings.received, [], 'the closed callback must not run inside send()');
    await closings.next();
    await untilGone(exchange);
    client.resume();
    await assert.rejects(client.ended);
    const overrun = Math.ceil(tBounds.sendBufferBytesMax / textBytes) + 2;
    const received = client.chunks.received.join('');
    assert.ok(
      received.length <= (sent + overrun) * textBytes,
      `${received.length} bytes after ${sent} texts`,
    );
    assert.ok(all.join('').startsWith(received));
    assert.deepEqual(closings.received, ['closed']);
  });
}
