/** The client's end of HTTP under test: each answer and each event of a stream is held against its schema. */
import assert from 'node:assert/strict';

import type { ResponseObject, ServerEvent } from '../../engine/index.js';
import {
  errorBodySchema,
  responseObjectSchema,
  serverEventSchema,
} from '../../engine/protocol/server-events.js';
import type { Body } from '../loopback.js';
import type { TAnswer, TServer, TStream } from './clients.js';
import type { EventOf } from './kinds.js';
import { checkWholeStreams } from './streams.js';

type Match = (event: ServerEvent) => boolean;

export interface HttpOptions {
  /** Null names none. */
  readonly design: string | null;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One answer in JSON. */
export class Told {
  readonly status: number;
  readonly headers: TAnswer['headers'];
  readonly text: string;

  constructor({ status, headers, contentType, body }: TAnswer) {
    assert.equal(contentType, 'application/json', 'P7');
    this.status = status;
    this.headers = headers;
    this.text = body;
  }

  get body(): unknown {
    return JSON.parse(this.text);
  }

  /** The error in it, in the one shape that HTTP errors have (P63). */
  get error() {
    const error = errorBodySchema.parse((this.body as { readonly error: unknown }).error);
    assert.deepEqual(
      Object.keys(error)
        .filter((key) => key !== 'headers')
        .toSorted(),
      ['code', 'message', 'param', 'type'],
    );
    assert.ok(this.status >= 400);
    return error;
  }

  get response(): ResponseObject {
    assert.equal(this.status, 200, this.text);
    return responseObjectSchema.parse(this.body);
  }
}

/** A block of a stream as its framing says: one name, one line of data (P5). */
function eventIn(block: string): ServerEvent {
  const [name = '', data = '', ...rest] = block.split('\n');
  assert.deepEqual(rest, [], block);
  assert.match(name, /^event: [a-z_.]+$/);
  assert.match(data, /^data: \{.*\}$/);
  assert.doesNotMatch(data, /[\r\u0085\u2028\u2029]/, 'one line to every reader of lines (B74)');
  // An error within a stream has no status: that of the answer has been sent.
  const isError = name === 'event: error';
  const event = serverEventSchema.parse({
    ...(isError ? { status: 0 } : {}),
    ...JSON.parse(data.slice('data: '.length)),
  });
  assert.equal(name, `event: ${event.type}`, 'P5');
  return event;
}

/** The events of one stream, from its first byte on. */
export class Events {
  readonly stream: TStream;
  /** Every event taken so far. */
  readonly taken: ServerEvent[] = [];
  /** The end mark has come. */
  done = false;
  #text = '';

  constructor(stream: TStream) {
    assert.equal(stream.status, 200);
    assert.match(String(stream.headers['content-type']), /^text\/event-stream\b/, 'P5');
    this.stream = stream;
  }

  /** The next event, or null at the end mark. Rejects where the stream is over without one. */
  async next(): Promise<ServerEvent | null> {
    while (!this.#text.includes('\n\n')) this.#text += await this.stream.chunks.next();
    const at = this.#text.indexOf('\n\n');
    const block = this.#text.slice(0, at);
    this.#text = this.#text.slice(at + 2);
    assert.equal(this.done, false, 'nothing follows [DONE]');
    if (block === 'data: [DONE]') {
      this.done = true;
      checkWholeStreams(this.taken);
      return null;
    }
    const event = eventIn(block);
    this.taken.push(event);
    return event;
  }

  /** Takes events up to the first that matches, and gives that one. */
  async until<Type extends ServerEvent['type']>(type: Type): Promise<EventOf<Type>> {
    const last = (await this.through((event) => event.type === type)).at(-1);
    assert.ok(last);
    return last as EventOf<Type>;
  }

  /** Takes events up to the first that matches, and gives them all. */
  async through(match: ServerEvent['type'] | Match): Promise<ServerEvent[]> {
    const matches = typeof match === 'string' ? (event: ServerEvent) => event.type === match : match;
    const taken: ServerEvent[] = [];
    for (;;) {
      const event = await this.next();
      assert.ok(event, `[DONE] came first, after ${taken.map(({ type }) => type).join(' ')}`);
      taken.push(event);
      if (matches(event)) return taken;
    }
  }

  /** What is left, to the end mark and the clean end of the stream. */
  async rest(): Promise<ServerEvent[]> {
    const taken: ServerEvent[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) taken.push(event);
    await this.stream.ended;
    assert.equal(this.#text, '', 'nothing follows [DONE]');
    return taken;
  }

  /** What is left of a stream that ends without an end mark. */
  async restUnmarked(): Promise<ServerEvent[]> {
    const taken: ServerEvent[] = [];
    await this.stream.ended;
    for (;;) {
      const next = await this.next().catch(() => undefined);
      if (next === undefined) return taken;
      assert.ok(next, 'the end mark has come');
      taken.push(next);
    }
  }
}

/** Asks one server in one design. */
export class HttpPeer {
  readonly #server: TServer;
  readonly #design: string | null;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(server: TServer, { design, key, headers = {} }: HttpOptions) {
    this.#server = server;
    this.#design = design;
    this.#headers = { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
  }

  /** Any request. An object as its body is sent as JSON. */
  async ask(method: string, path: string, body: object | Body = '', dropped?: AbortSignal): Promise<Told> {
    return new Told(
      await this.#server.exchange(method, this.#target(path), this.#headers, bytesOf(body), dropped),
    );
  }

  /** Any request that is answered by a stream. */
  async open(method: string, path: string, body: object | Body = '', dropped?: AbortSignal): Promise<Events> {
    return new Events(
      await this.#server.stream(method, this.#target(path), this.#headers, bytesOf(body), dropped),
    );
  }

  create(fields: object = {}, dropped?: AbortSignal): Promise<Told> {
    return this.ask('POST', '/v1/responses', { model: 'm', input: 'hi', ...fields }, dropped);
  }

  stream(fields: object = {}, dropped?: AbortSignal): Promise<Events> {
    return this.open('POST', '/v1/responses', { model: 'm', input: 'hi', ...fields, stream: true }, dropped);
  }

  /** A create that is refused, although it asks for a stream. */
  refusedStream(fields: object): Promise<Told> {
    return this.create({ ...fields, stream: true });
  }

  /** The events of a create, to the end of its stream. */
  async turn(fields: object = {}): Promise<ServerEvent[]> {
    return (await this.stream(fields)).rest();
  }

  append(id: string, ...input: readonly unknown[]): Promise<Told> {
    return this.ask('POST', `/v1/responses/${id}/append`, { input });
  }

  get(id: string): Promise<Told> {
    return this.ask('GET', `/v1/responses/${id}`);
  }

  /** The stream of a response that is there already. */
  follow(id: string, startingAfter?: number): Promise<Events> {
    const place = startingAfter === undefined ? '' : `&starting_after=${startingAfter}`;
    return this.open('GET', `/v1/responses/${id}?stream=true${place}`);
  }

  cancel(id: string): Promise<Told> {
    return this.ask('POST', `/v1/responses/${id}/cancel`);
  }

  remove(id: string): Promise<Told> {
    return this.ask('DELETE', `/v1/responses/${id}`);
  }

  inputItems(id: string, query = ''): Promise<Told> {
    return this.ask('GET', `/v1/responses/${id}/input_items${query}`);
  }

  #target(path: string): string {
    if (this.#design === null) return path;
    return `${path}${path.includes('?') ? '&' : '?'}design=${this.#design}`;
  }
}

function bytesOf(body: object | Body): Body {
  if (typeof body === 'string' || body instanceof Uint8Array || Array.isArray(body)) return body as Body;
  return JSON.stringify(body);
}
