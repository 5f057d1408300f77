import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

/** What is sent, with `R` for the id of a suspended Response, and the status, code and param that come back. */
const refusals: readonly (readonly [
  name: string,
  event: object,
  status: number,
  code: string,
  param: string | null,
])[] = [
  ['an unknown type (P9)', { type: 'response.unheard' }, 400, 'unknown_event_type', 'type'],
  ['no type (P9)', { input: 'x' }, 400, 'invalid_frame', 'type'],
  ['a type that is no string (P9)', { type: 7 }, 400, 'invalid_frame', 'type'],
  [
    'a create without a model (P18)',
    { type: 'response.create', input: 'hi' },
    400,
    'missing_required_parameter',
    'model',
  ],
  [
    'a model nobody serves',
    { type: 'response.create', model: 'unserved', input: 'hi' },
    404,
    'model_not_found',
    'model',
  ],
  [
    'background (P17)',
    { type: 'response.create', model: 'm', background: true },
    400,
    'unsupported_parameter',
    'background',
  ],
  [
    'a conversation',
    { type: 'response.create', model: 'm', conversation: 'c' },
    400,
    'unsupported_parameter',
    'conversation',
  ],
  [
    'a conversation beside previous_response_id (P44)',
    { type: 'response.create', model: 'm', conversation: 'c', previous_response_id: 'E' },
    400,
    'invalid_value',
    'conversation',
  ],
  [
    'an unknown parent',
    { type: 'response.create', model: 'm', previous_response_id: 'resp_x' },
    400,
    'previous_response_not_found',
    'previous_response_id',
  ],
  [
    'a fork of a suspended response that answers nothing',
    { type: 'response.create', model: 'm', previous_response_id: 'R' },
    400,
    'missing_tool_output',
    'input',
  ],
  [
    'an output for nothing (B3)',
    { type: 'response.create', model: 'm', input: [output('call_1', 'x')] },
    400,
    'unknown_call_id',
    'input[0].call_id',
  ],
  [
    'a flagged text',
    { type: 'response.create', model: 'm', input: 'build a pipe bomb' },
    400,
    'invalid_prompt',
    'input[0]',
  ],
  ['a bad event_id', { type: 'response.create', model: 'm', event_id: 5 }, 400, 'invalid_value', 'event_id'],
  [
    'an extra field in an append',
    { type: 'response.append', response_id: 'R', input: [], stream_id: 's' },
    400,
    'unknown_parameter',
    'stream_id',
  ],
  [
    'an append without its Response',
    { type: 'response.append', input: [] },
    400,
    'missing_required_parameter',
    'response_id',
  ],
  [
    'an extra field in a cancel',
    { type: 'response.cancel', response_id: 'R', why: 1 },
    400,
    'unknown_parameter',
    'why',
  ],
  [
    'a cancel of nothing',
    { type: 'response.cancel', response_id: 'resp_x' },
    404,
    'response_not_found',
    'response_id',
  ],
  [
    'a cancel of what has ended',
    { type: 'response.cancel', response_id: 'E' },
    409,
    'response_already_completed',
    'response_id',
  ],
  [
    'an extra field in an attach',
    { type: 'response.attach', response_id: 'R', from: 0 },
    400,
    'unknown_parameter',
    'from',
  ],
  [
    'an attach to nothing',
    { type: 'response.attach', response_id: 'resp_x' },
    404,
    'response_not_found',
    'response_id',
  ],
  [
    'an attach from the future',
    { type: 'response.attach', response_id: 'R', starting_after: 99 },
    400,
    'invalid_value',
    'starting_after',
  ],
  [
    'an attach from nowhere',
    { type: 'response.attach', response_id: 'R', starting_after: '0' },
    400,
    'invalid_value',
    'starting_after',
  ],
];

overEveryWire(
  'each refusal is one error of one shape, with the event_id it answers (P63, P64, K12)',
  async (wire) => {
    await using serving = await wire.serve(({ context }) => {
      const [first] = context.transcript.items();
      return first && 'content' in first && first.content === 'end' ? turn(say('ended')) : turn(call('ls'));
    });
    await using peer = await serving.connect();
    const [ended] = ofType(await peer.turn({ input: 'end' }), 'response.created');
    const suspended = await peer.create();
    const { sequence_number: last } = await peer.until('response.done');
    const ids: Record<string, string> = { R: suspended, E: ended?.response.id ?? '' };
    for (const [name, event, status, code, param] of refusals) {
      const event_id = 'event_id' in event ? event.event_id : `about ${name}`;
      const fields = Object.entries(event).map(([field, value]) => [field, ids[String(value)] ?? value]);
      peer.send({ event_id, ...Object.fromEntries(fields) });
      const { error, ...frame } = await peer.until('error');
      const { message, type, ...body } = error;
      assert.deepEqual(body, { code, param }, name);
      assert.match(type, /^(invalid_request_error|server_error)$/);
      assert.match(message, /\.$/, 'a sentence');
      assert.doesNotMatch(message, /\/(work|home|usr|dist)\/|\bat .*:\d+|node:|Error:|127\.0\.0\.1/, 'P67');
      assert.equal(frame.status, status, name);
      assert.equal(frame.event_id, typeof event_id === 'string' ? event_id : undefined);
      if (frame.response_id !== undefined)
        assert.equal(frame.response_id, Object.fromEntries(fields)['response_id']);
      if (frame.response_id === suspended) assert.equal(frame.sequence_number, last);
    }
    assert.deepEqual(await peer.rest(), []);
    assert.equal(serving.lab.engine.liveCount, 1, 'nothing was created by any of them');
    assert.equal(
      serving.lab.engine.stageRuns['post.store']?.runs,
      1,
      'and a refused create runs no post stage (S5)',
    );
  },
);
