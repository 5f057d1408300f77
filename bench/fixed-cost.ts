/**
 * What a request costs a server before its first event, from outside: a bound from above on the fixed work of a create.
 *
 * A handful of requests that ask for nothing to speak of go over one kept connection, and the time of a TCP connect, which
 * is one round trip and no work, is taken off. What is left holds all that comes before the first event: the fixed work,
 * queueing, this client's own time and, where a server sends no event before its first token, the wait for that token. An
 * append would pay a part of it too, so the true cost of a create beyond an append's is at most this.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';

import type { Profile } from './service/profile.js';
import { percentile } from './statistics.js';

export interface FixedCostOptions {
  /** `http://host:port`, with or without `/v1` or `/v1/responses`. */
  readonly url: string;
  readonly key?: string;
  /** Default `demo`. */
  readonly model?: string;
  /** Requests that count; one more goes before them and opens the connection. Default 8. */
  readonly requests?: number;
  readonly signal?: AbortSignal;
}

export interface FixedCost {
  readonly requests: number;
  /** Whether the connection was kept; else opening one is in the times. */
  readonly kept: boolean;
  /** Request handed over → first event of its stream. */
  readonly first_event_ms: { readonly low: number; readonly median: number; readonly high: number };
  /** The shortest of several TCP connects. */
  readonly rtt_ms: number;
  /** The median less the round trip, at least 0. */
  readonly fixed_ms: number;
}

/** All that is ever sent: nothing of a trace is in it. */
const smallRequest = { input: 'Say ok.', max_output_tokens: 16, stream: true, store: false } as const;
const connects = 5;
/** A request that has not ended by then is at fault. */
const requestMsMax = 60_000;

function addressOf(url: string): URL {
  const address = new URL(url);
  address.protocol = address.protocol.replace('ws', 'http');
  const path = address.pathname.replace(/\/+$/, '');
  address.pathname = path === '' ? '/v1/responses' : path.replace(/(?:\/responses)?$/, '/responses');
  return address;
}

async function connectMs(host: string, port: number): Promise<number> {
  const from = performance.now();
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return performance.now() - from;
  } finally {
    socket.destroy();
  }
}

async function roundTripMs({ hostname, port, protocol }: URL): Promise<number> {
  // Resolved before, so that no connect holds the time of a name server.
  const { address } = await lookup(hostname.replaceAll(/^\[|\]$/g, ''));
  const times: number[] = [];
  for (let round = 0; round < connects; round++)
    times.push(await connectMs(address, Number(port) || (protocol === 'https:' ? 443 : 80)));
  return Math.min(...times);
}

function reason(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

function opening(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** Reads an answer to its end, so that its connection can be used again. Gives when its first event was there, and its text. */
async function readAnswer(
  answer: IncomingMessage,
): Promise<{ readonly at: number | null; readonly text: string }> {
  answer.setEncoding('utf8');
  let text = '';
  let at: number | null = null;
  for await (const chunk of answer) {
    text += String(chunk);
    if (at === null && /^data:.*\n/m.test(text)) at = performance.now();
  }
  return { at, text };
}

interface Asked {
  readonly ms: number;
  readonly reused: boolean;
}

async function ask(address: URL, agent: Agent, options: FixedCostOptions): Promise<Asked> {
  const { key, model = 'demo', signal } = options;
  const bound = AbortSignal.timeout(requestMsMax);
  const from = performance.now();
  const request = (address.protocol === 'https:' ? httpsRequest : httpRequest)(address, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    signal: signal === undefined ? bound : AbortSignal.any([signal, bound]),
  });
  const answered = answerTo(request);
  request.end(JSON.stringify({ model, ...smallRequest }));
  const answer = await answered;
  const { at, text } = await readAnswer(answer);
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}: ${opening(text)}`);
  if (at === null) throw new Error('answered without an event: expected a stream of the Responses API');
  return { ms: at - from, reused: request.reusedSocket };
}

/** A request that fails once it is answered fails its answer, too, where it is read. */
function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
}

async function measured(address: URL, options: FixedCostOptions): Promise<FixedCost> {
  const rtt_ms = await roundTripMs(address);
  const kept = { keepAlive: true, maxSockets: 1 };
  const agent = address.protocol === 'https:' ? new HttpsAgent(kept) : new Agent(kept);
  try {
    await ask(address, agent, options);
    const asked: Asked[] = [];
    for (let request = 0; request < (options.requests ?? 8); request++)
      asked.push(await ask(address, agent, options));
    const times = asked.map(({ ms }) => ms);
    const median = percentile(times, 0.5) ?? 0;
    return {
      requests: times.length,
      kept: asked.every(({ reused }) => reused),
      first_event_ms: { low: Math.min(...times), median, high: Math.max(...times) },
      rtt_ms,
      fixed_ms: Math.max(0, median - rtt_ms),
    };
  } finally {
    agent.destroy();
  }
}

/** @throws Error that names the address, where it can't be reached, refuses, or sends no events. */
export async function measureFixedCost(options: FixedCostOptions): Promise<FixedCost> {
  const address = addressOf(options.url);
  try {
    return await measured(address, options);
  } catch (fault) {
    throw new Error(`${address.href}: ${reason(fault)}`, { cause: fault });
  }
}

/** A service in which a request or a create costs so much more than an append, and nothing else costs anything. */
export function fixedCostProfile(fixedMs: number, source: string): Profile {
  return {
    name: 'fixed-cost',
    about: `${fixedMs.toFixed(1)} ms of fixed work in every request and create, and none in an append.`,
    source,
    modules: { residual: { full: { wait_ms: fixedMs, cpu_ms: 0, us_per_token: 0 } } },
    admission: { admit_ms: 0, resume_ms: 0 },
    history_share: 0,
  };
}

/** What a figure from outside is, and what it is not. */
export function fixedCostText({ requests, kept, first_event_ms, rtt_ms, fixed_ms }: FixedCost): string {
  const { low, median, high } = first_event_ms;
  const ms = (value: number): string => value.toFixed(1);
  return (
    `${ms(fixed_ms)} ms, measured: ${requests} requests of a few tokens over ${kept ? 'one kept HTTP connection' : 'HTTP connections that the server did not keep'} had their first event ` +
    `after ${ms(median)} ms (median; ${ms(low)} to ${ms(high)}), less a round trip of ${ms(rtt_ms)} ms (shortest TCP connect). ` +
    'It bounds the fixed work of a create from above: queueing is in it, this client too, the wait for the first token where ' +
    'the server sends nothing before it, and what an append would pay as well. Nothing of the trace was sent.'
  );
}
