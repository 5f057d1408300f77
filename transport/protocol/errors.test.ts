import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];

overEveryWire(
  'a create with fields that nobody knows runs, and response.processed is ignored (B70, P11)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('done'))]);
    await using peer = await serving.connect({
      headers: { 'openai-beta': 'responses_websockets=2026-02-06' },
    });
    const events = await peer.turn({
      metadata: { k: 'v' },
      client_metadata: { trace: 1 },
      prompt_cache_key: 'cache',
      include: ['reasoning.encrypted_content'],
      parallel_tool_calls: false,
      stream: true,
      stream_options: { include_usage: true },
      background: false,
      x_unknown: 1,
    });
    const last = ofType(events, 'response.completed')[0]?.response;
    assert.deepEqual(
      [last?.metadata, last?.prompt_cache_key, last?.parallel_tool_calls],
      [{ k: 'v' }, 'cache', false],
    );
    assert.ok(last && !('x_unknown' in last));
    peer.send({ type: 'response.processed', response_id: last.id, x_unknown: 1 });
    assert.deepEqual(await peer.rest(), []);
  },
);

overEveryWire(
  'a fault before created is one error, after it one response.failed (B57, P65)',
  async (wire) => {
    const fault = new Error('secret: the disk at /srv is on fire');
    let isBroken = true;
    await using serving = await wire.serve(
      [{ items: [say('half of it')], failAfterTokens: { tokens: 1, fault } }],
      {
        engine: {
          stages: (standard) => [
            ...standard,
            {
              name: 'broken',
              phases: ['pre'],
              reads: 'new',
              refuses: false,
              critical: true,
              run() {
                if (isBroken) throw fault;
              },
            },
          ],
        },
      },
    );
    await using peer = await serving.connect();
    const before = await peer.turn();
    assert.deepEqual(
      before.map((event) => event.type),
      ['error'],
    );
    const error = ofType(before, 'error')[0];
    assert.deepEqual([error?.status, error?.error.code], [500, 'server_error']);
    assert.deepEqual(serving.faults.splice(0), [fault], 'the fault itself stays in the process');
    isBroken = false;
    const after = await peer.turn();
    assert.equal(after.at(-1)?.type, 'response.failed');
    assert.deepEqual(ofType(after, 'error'), []);
    assert.doesNotMatch(JSON.stringify(peer.received), /secret|srv/);
    assert.deepEqual(await peer.rest(), []);
  },
);

overEveryWire(
  'a refusal that may pass later says when, as a header inside the error (B58, P68)',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { liveResponsesMax: 1 } });
    await using peer = await serving.connect();
    await peer.create();
    await peer.until('response.done');
    const [refused] = ofType(await peer.turn(), 'error');
    assert.deepEqual([refused?.status, refused?.error.code], [429, 'rate_limit_exceeded']);
    assert.deepEqual(refused?.error.headers, { 'retry-after': '1' });
  },
);

overEveryWire(
  'a tool whose schema can never work is refused by its path, before anything runs (B62)',
  async (wire) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect();
    const parameters = {
      type: 'object',
      properties: { a: { type: 'object' } },
      required: ['a'],
      additionalProperties: false,
    };
    const [refused] = ofType(
      await peer.turn({ tools: [{ type: 'function', name: 'f', strict: true, parameters }] }),
      'error',
    );
    assert.deepEqual(
      [refused?.error.code, refused?.error.param],
      ['invalid_function_parameters', 'tools[0].parameters.properties.a.additionalProperties'],
    );
    assert.equal(serving.lab.model.stats.opened, 0);
  },
);

overEveryWire(
  'a context that is too long is refused by a code of its own, at a create and at an append (B64)',
  async (wire) => {
    await using serving = await wire.serve(script, { contextTokensMax: 100 });
    await using peer = await serving.connect();
    const [refused] = ofType(await peer.turn({ input: 'x'.repeat(150) }), 'error');
    assert.deepEqual([refused?.status, refused?.error.code], [400, 'context_length_exceeded']);
    const id = await peer.create();
    const { required_input } = await peer.until('response.done');
    peer.append(id, output(required_input[0]?.call_id, 'x'.repeat(150)));
    assert.equal((await peer.until('response.append.failed')).error.code, 'context_length_exceeded');
    peer.append(id, output(required_input[0]?.call_id, 'short'));
    await peer.until('response.completed');
  },
);
