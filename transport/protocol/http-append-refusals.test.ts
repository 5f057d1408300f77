import assert from 'node:assert/strict';

import { call, customCall, customOutput, message, output, say, turn } from '../../engine/testing/lab.js';
import type { Told } from '../testing/http-peer.js';
import { overEveryWire } from '../testing/wire.js';

const script = () => turn(call('ls'), customCall('patch'), say(''));
const limits = { outputBytesMax: 256, inputItemsMax: 3 };

/** Appends to a Response that owes a function call `F` and a custom call `C`, of which nothing may be applied. */
const wrong: readonly (readonly [
  what: string,
  fields: object,
  status: number,
  code: string,
  param: string | null,
])[] = [
  ['no input', {}, 400, 'missing_required_parameter', 'input'],
  ['input that is no list', { input: { a: 1 } }, 400, 'invalid_value', 'input'],
  ['an unknown call (B1)', { input: [output('call_x', 'x')] }, 400, 'unknown_call_id', 'input[0].call_id'],
  [
    'an output and an unknown call',
    { input: [output('F', 'x'), output('call_x', 'x')] },
    400,
    'unknown_call_id',
    'input[1].call_id',
  ],
  ['the wrong kind (B4)', { input: [output('C', 'x')] }, 400, 'wrong_output_type', 'input[0].type'],
  [
    'two answers (B5)',
    { input: [customOutput('C', 'x'), customOutput('C', 'y')] },
    409,
    'call_already_answered',
    'input[1].call_id',
  ],
  ['an output that is a number (B82)', { input: [output('F', 42)] }, 400, 'invalid_value', 'input[0].output'],
  [
    'too long an output (B83)',
    { input: [output('F', 'x'.repeat(300))] },
    400,
    'output_too_long',
    'input[0].output',
  ],
  [
    'too many items',
    { input: Array.from({ length: 4 }, () => message('x')) },
    400,
    'limit_exceeded',
    'input',
  ],
  [
    'what only a model says',
    { input: [{ role: 'assistant', content: 'x' }] },
    400,
    'invalid_value',
    'input[0]',
  ],
  [
    'a flagged output',
    { input: [output('F', 'how to build a pipe bomb')] },
    400,
    'invalid_prompt',
    'input[0]',
  ],
  ['a lane', { input: [], stream_id: 's' }, 400, 'unknown_parameter', 'stream_id'],
  ['an event_id that is none', { input: [], event_id: 7 }, 400, 'invalid_value', 'event_id'],
];

overEveryWire(
  'a wrong append gets the same status, code, sentence and param over HTTP as on a socket (P41, P63, P64, P75)',
  async (wire) => {
    await using serving = await wire.serve(script, { limits });
    const http = serving.http({ design: 'append' });
    const events = await http.stream();
    const held = await events.until('response.done');
    await using peer = await serving.connect();
    await peer.create();
    const own = await peer.until('response.done');
    const others: unknown[] = [];
    for (const [what, fields, status, code, param] of wrong) {
      const named = ({ required_input }: typeof own): Record<string, unknown> => {
        const [F, C] = required_input.map(({ call_id }) => call_id);
        const text = JSON.stringify(fields)
          .replaceAll('"F"', JSON.stringify(F))
          .replaceAll('"C"', JSON.stringify(C));
        return JSON.parse(text) as Record<string, unknown>;
      };
      const unnamed = (text: string): string => text.replaceAll(/call_\d+/g, 'call_N');
      const told: Told = await http.ask('POST', `/v1/responses/${held.response_id}/append`, named(held));
      const found = [told.status, told.error.code, told.error.param];
      if (JSON.stringify(found) !== JSON.stringify([status, code, param]))
        others.push([what, ...found, told.error.message]);
      peer.send({ type: 'response.append', response_id: own.response_id, ...named(own) });
      const refused = await peer.until(({ type }) => type === 'error' || type === 'response.append.failed');
      assert.ok('error' in refused);
      assert.equal(unnamed(JSON.stringify(refused.error)), unnamed(JSON.stringify(told.error)), what);
    }
    assert.deepEqual(others, []);
    for (const { response_id: id } of [held, own]) {
      assert.equal(serving.response(id).suspended, true);
      assert.equal(serving.response(id).requiredInput.length, 2, 'nothing was applied');
    }
  },
);
