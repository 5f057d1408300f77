/** Faults, tries and bounds, on virtual time. */
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { ProtocolError } from '../../protocol/errors.js';
import type { SamplerEvent } from '../sampler.js';
import { firstTurn, openingOf } from '../testing/turns.js';
import { recording, sse, type Recording } from './testing/recorded.js';
import { saidBy, upstreamOf, type Sampling } from './testing/sampling.js';
import * as streams from './testing/chat-streams.js';
import * as responseStreams from './testing/responses-streams.js';

const ok = recording(streams.openaiText);
const refused = (status: number, body: unknown = {}, headers: Record<string, string> = {}): Recording => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  pieces: [typeof body === 'string' ? body : JSON.stringify(body)],
});
const brokenConnection: Recording = { pieces: [], end: 'cut' };
const oneToken = sse({ choices: [{ delta: { content: 'Hi' } }] });

async function errorOf(recordings: readonly Recording[], sampling: Sampling = {}) {
  const said = await saidBy(recordings, sampling);
  assert.ok(said.fault instanceof ProtocolError, String(said.fault));
  return { ...said, error: said.fault };
}

test('429 and 5xx are tried again before the first token, waiting as long as the upstream asks', async () => {
  for (const [first, waitedMs] of [
    [refused(429, {}, { 'retry-after-ms': '1234' }), 1234],
    [refused(429, {}, { 'retry-after': '2' }), 2000],
    [refused(503, {}, { 'retry-after': new Date((1_750_000_000 + 5) * 1000).toUTCString() }), 5000],
    [refused(429), 500],
    [refused(500, '<html>no</html>'), 500],
    [brokenConnection, 500],
    [recording(''), 500],
    [recording(sse({ error: { message: 'overloaded', type: 'overloaded_error' } })), 500],
  ] as const) {
    const said = await saidBy([first, ok]);
    assert.equal(said.fault, null);
    assert.equal(said.told[1], '0 says Hello.');
    assert.equal(said.clock.now(), waitedMs);
    assert.equal(said.http.requests.length, 2);
    assert.equal(said.http.requests[0]?.raw, said.http.requests[1]?.raw);
    assert.equal(said.events.filter(({ type }) => type === 'prefill').length, 1);
  }
});

test('tries are bounded, wait twice as long each time, and end with the last fault', async () => {
  const { error, clock, http } = await errorOf([refused(503)], { options: { retriesMax: 3, retryMs: 100 } });
  assert.equal(error.code, 'server_error');
  assert.equal(http.requests.length, 4);
  assert.equal(clock.now(), 100 + 200 + 400);
});

test('a longer wait than the bound is the client’s to make: it is told how long (P68)', async () => {
  const { error, clock, http } = await errorOf([refused(429, {}, { 'retry-after': '120' }), ok]);
  assert.deepEqual([error.code, error.retryAfterSeconds], ['rate_limit_exceeded', 120]);
  assert.deepEqual([http.requests.length, clock.now()], [1, 0]);
});

test('nothing is tried again where it can’t help, or where the upstream says so', async () => {
  for (const first of [
    refused(400),
    refused(401),
    refused(404),
    refused(307),
    refused(429, { error: { code: 'insufficient_quota' } }),
    refused(503, {}, { 'x-should-retry': 'false' }),
  ])
    assert.equal((await errorOf([first, ok])).http.requests.length, 1);
});

test('after the first token nothing is tried again', async () => {
  for (const first of [
    recording(oneToken, { end: 'cut' }),
    recording(oneToken),
    recording(oneToken + sse({ error: { message: 'x', code: 503 } })),
  ]) {
    const { error, http, told } = await errorOf([first, ok]);
    assert.equal(error.code, 'server_error');
    assert.equal(http.requests.length, 1);
    assert.deepEqual(told, ['0 is message', '0 says Hi']);
  }
});

test('what an upstream refuses is told by a fitting code', async () => {
  const said = (message: string, more: object = {}) => ({
    error: { message, type: 'invalid_request_error', ...more },
  });
  for (const [recordings, code, message] of [
    [
      refused(400, said('too long', { code: 'context_length_exceeded' })),
      'context_length_exceeded',
      /longer than/,
    ],
    [
      refused(400, {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens.",
        code: 400,
      }),
      'context_length_exceeded',
      /longer than/,
    ],
    [
      refused(400, {
        error: {
          code: 400,
          message: 'the request exceeds the available context size',
          type: 'exceed_context_size_error',
        },
      }),
      'context_length_exceeded',
      /longer than/,
    ],
    [
      refused(400, said('flagged', { code: 'content_policy_violation' })),
      'invalid_prompt',
      /refused the prompt/,
    ],
    [refused(404, said("model 'x' not found", { code: null })), 'model_not_found', /no such model/],
    [refused(404, 'not here'), 'server_error', /no such endpoint/],
    [refused(401, said('Incorrect API key provided: sk-abc')), 'server_error', /credentials/],
    [refused(422, { detail: [{ msg: 'top_p is too big' }] }), 'invalid_value', /: top_p is too big$/],
    [refused(400, { error: 'bad seed' }), 'invalid_value', /: bad seed$/],
    [refused(200, { choices: [] }), 'server_error', /did not answer with a stream/],
    [refused(200, '<html>', { 'content-type': 'text/html' }), 'server_error', /did not answer with a stream/],
    [
      refused(200, said('too long', { code: 'context_length_exceeded' })),
      'context_length_exceeded',
      /longer/,
    ],
    [recording(oneToken + 'data: {garbage\n\n'), 'server_error', /no JSON object/],
    [recording(`${oneToken}data: {"choi`), 'server_error', /broke off/],
    [recording(`${oneToken}data: {"choi`, { end: 'cut' }), 'server_error', /connection .* failed/],
    [
      recording(sse({ choices: [{ delta: {}, finish_reason: 'error' }] })),
      'server_error',
      /failed in the middle/,
    ],
  ] as const) {
    const { error } = await errorOf([recordings], { options: { retriesMax: 0 } });
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
  }
});

test('failures inside a Responses stream are told by a fitting code, early ones tried again', async () => {
  const options = { api: 'responses' as const, retriesMax: 0 };
  for (const [stream, code] of [
    [responseStreams.responsesFailed({ code: 'server_error', message: 'x' }), 'server_error'],
    [
      responseStreams.responsesFailed({ code: 'rate_limit_exceeded', message: 'x' }, true),
      'rate_limit_exceeded',
    ],
    [
      responseStreams.responsesFailed({ code: 'context_length_exceeded', message: 'x' }, true),
      'context_length_exceeded',
    ],
    [responseStreams.responsesFailed({ code: 'invalid_prompt', message: 'x' }, true), 'invalid_prompt'],
    [sse({ type: 'error', code: 'server_error', message: 'x', param: null }), 'server_error'],
    [sse({ type: 'error', error: { type: 'too_many_requests', message: 'x' } }), 'rate_limit_exceeded'],
    [responseStreams.responsesBrokenOff, 'server_error'],
  ] as const)
    assert.equal((await errorOf([recording(stream)], { options })).error.code, code);
  const early = recording(
    responseStreams.responsesFailed({ code: 'rate_limit_exceeded', message: 'x' }, true),
  );
  const again = await saidBy([early, recording(responseStreams.responsesAll)], {
    options: { api: 'responses' },
  });
  assert.equal(again.fault, null);
  assert.equal(again.http.requests.length, 2);
});

test('an endless event is a fault', async () => {
  const endless: Recording = {
    pieces: Array.from({ length: 100 }, () => 'data: xxxxxxxxxxxxxxxxxx'),
    end: 'stay',
  };
  const { error } = await errorOf([endless], { options: { eventBytesMax: 500 } });
  assert.match(error.message, /too long/);
});

test('the first token and every silence are bounded on the clock, and neither is tried again', async () => {
  for (const [silent, atMs, sentence] of [
    [recording('', { end: 'stay' }), 300_000, /began no answer within 300000 ms/],
    [recording(': ping\n\n', { end: 'stay' }), 300_000, /began no answer/],
    [recording(oneToken, { end: 'stay' }), 50, /said nothing more for 50 ms/],
  ] as const) {
    const { error, clock, http } = await errorOf([silent, ok], { options: { silenceMsMax: 50 } });
    assert.equal(error.code, 'server_error');
    assert.match(error.message, sentence);
    assert.equal(clock.now(), atMs);
    assert.equal(http.requests.length, 1);
    await http.requests[0]?.over;
    assert.equal(clock.pending, 0);
  }
});

test('when the model is through, usage and the end of the stream are awaited for a moment only', async () => {
  const open = recording(sse({ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] }), {
    end: 'stay',
  });
  const said = await saidBy([open]);
  assert.equal(said.fault, null);
  assert.deepEqual(said.told, ['0 is message', '0 says Hi', '0 ends']);
  assert.equal(said.clock.now(), 2_000);
  const broken = await saidBy([{ ...open, end: 'cut' }]);
  assert.deepEqual([broken.fault, broken.clock.now()], [null, 0]);
  const whole = await saidBy([recording(responseStreams.responsesAll, { end: 'stay' })], {
    options: { api: 'responses' },
  });
  assert.deepEqual([whole.fault, whole.clock.now()], [null, 0]);
});

test('an abort ends a turn at once wherever it waits, with the reason of its signal, and ends the request', async () => {
  for (const recordings of [
    [recording('', { end: 'stay' })],
    [recording(oneToken, { end: 'stay' })],
    [recording(sse({ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] }), { end: 'stay' })],
    [refused(503)],
  ] satisfies Recording[][]) {
    const { clock, http, sampler } = upstreamOf(recordings);
    const controller = new AbortController();
    const reason = new Error('enough');
    const events: SamplerEvent[] = [];
    const sampling = (async () => {
      for await (const event of sampler.open(openingOf()).sample(firstTurn, controller.signal))
        events.push(event);
    })();
    const ended = assert.rejects(sampling, (fault) => fault === reason);
    await clock.advance(0);
    controller.abort(reason);
    await ended;
    await http.requests[0]?.over;
    assert.equal(clock.now(), 0);
    assert.equal(clock.pending, 0);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  }
});
