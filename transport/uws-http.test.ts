import { test } from 'node:test';
import assert from 'node:assert/strict';
import { THttpApplication } from './testing/streaming.js';
import type { HttpRequest, HttpResponse } from './uws.js';
import { serveExchange } from './uws-http.js';

const bounds = { frameBytesMax: 1_000, sendBufferBytesMax: 1_000 };

/** A response of the native library whose buffer is full when a test says so. */
class TResponse {
  isFull = false;
  readonly written: string[] = [];
  corks = 0;
  writable: (offset: number) => boolean = () => true;
  aborted: () => void = () => {};

  readonly response = {
    onAborted: (callback: () => void) => {
      this.aborted = callback;
    },
    onData: (callback: (chunk: ArrayBuffer, isLast: boolean) => void) => callback(new ArrayBuffer(0), true),
    onWritable: (callback: (offset: number) => boolean) => {
      this.writable = callback;
    },
    cork: (callback: () => void) => {
      this.corks += 1;
      callback();
    },
    close: () => {
      this.written.push('close');
      this.aborted();
    },
    writeStatus: () => {},
    writeHeader: () => {},
    write: (chunk: string | Uint8Array) => {
      this.written.push(Buffer.from(chunk).toString());
      return !this.isFull;
    },
    end: () => {
      this.written.push('end');
    },
  } as unknown as HttpResponse;
}

async function openStream() {
  const application = new THttpApplication();
  const native = new TResponse();
  const request = {
    forEach() {},
    getCaseSensitiveMethod: () => 'POST',
    getUrl: () => '/',
    getQuery: () => '',
  } as unknown as HttpRequest;
  serveExchange(application, bounds, native.response, request);
  const { stream, closings } = await application.openings.next();
  assert.deepEqual(native.written.splice(0), [':\n\n']);
  native.corks = 0;
  return { native, stream, closings };
}

test('from the write that meets a full buffer on texts wait here, where they are counted', async () => {
  const { native, stream } = await openStream();
  native.isFull = true;
  assert.equal(stream.send(['a'.repeat(400), 'b'.repeat(400)]), true);
  assert.equal(stream.send(['c'.repeat(300)]), false);
  assert.deepEqual(native.written, ['a'.repeat(400)]);
  native.isFull = false;
  const awake = stream.drained();
  assert.equal(native.writable(0), true);
  await awake;
  assert.deepEqual(native.written.slice(1), ['b'.repeat(400), 'c'.repeat(300)]);
  assert.equal(stream.send(['d']), true);
});

test('a buffer that is still full costs one small write for each time that the response is writable', async () => {
  const { native, stream } = await openStream();
  native.isFull = true;
  const long = 'é'.repeat(5_000);
  stream.send(['first', long, 'last']);
  assert.deepEqual(native.written.splice(0), ['first']);
  native.writable(0);
  native.writable(0);
  assert.deepEqual(
    native.written.map((text) => Buffer.byteLength(text)),
    [4_096, 4_096],
  );
  native.isFull = false;
  native.writable(0);
  assert.equal(native.written.join(''), `${long}last`);
});

test('texts leave in as few corks as the buffer of a cork allows, a long one in a cork of its own', async () => {
  const { native, stream } = await openStream();
  stream.send(['a'.repeat(8_000), 'b'.repeat(8_000), 'c'.repeat(100_000), 'd', 'e']);
  assert.equal(native.corks, 3);
  assert.equal(native.written.length, 5);
});

test('an end gives the library all that waits; a cut touches the response no more', async () => {
  const ended = await openStream();
  ended.native.isFull = true;
  ended.stream.send(['one', 'two', 'three']);
  ended.stream.end();
  assert.deepEqual(ended.native.written, ['one', 'two', 'three', 'end']);
  const cut = await openStream();
  cut.native.isFull = true;
  cut.stream.send(['a'.repeat(1_001)]);
  cut.stream.send(['b'.repeat(1_001)]);
  cut.stream.send(['c']);
  cut.stream.end();
  assert.deepEqual(cut.native.written, ['a'.repeat(1_001), 'close']);
  await cut.closings.next();
  assert.deepEqual(cut.closings.received, ['closed']);
});
