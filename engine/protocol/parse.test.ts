import { test } from 'node:test';
import assert from 'node:assert/strict';

import { z } from 'zod';

import { dispatched, typeOf } from './dispatch.js';
import { ProtocolError, toProtocolError } from './errors.js';
import { parse, pathText, protocolErrorFor } from './parse.js';

const schema = z.object({
  name: z.string(),
  list: z.array(z.object({ 'odd key': z.number() })).optional(),
});

function refusalOf(raw: unknown, prefix: readonly PropertyKey[] = [], by: z.ZodType = schema): ProtocolError {
  try {
    parse(by, raw, prefix);
  } catch (fault) {
    assert.ok(fault instanceof ProtocolError);
    return fault;
  }
  return assert.fail('accepted');
}

test('paths are written as clients write them', () => {
  assert.equal(pathText(['input', 0, 'content', 2, 'text']), 'input[0].content[2].text');
  assert.equal(pathText([]), '');
  assert.equal(pathText([0]), '[0]');
});

test('what parses comes back as the schema gives it', () => {
  assert.deepEqual(parse(schema, { name: 'x', more: 1 }), { name: 'x' });
});

test('a missing field, a wrong one and an unknown one have codes of their own and name the field', () => {
  const missing = refusalOf({});
  assert.deepEqual(
    [missing.code, missing.param, missing.message],
    ['missing_required_parameter', 'name', 'Missing required parameter: name.'],
  );
  const wrong = refusalOf({ name: 5 });
  assert.deepEqual([wrong.code, wrong.param], ['invalid_value', 'name']);
  assert.match(wrong.message, /^Invalid value for name: .+\.$/);
  const unknown = refusalOf({ name: 'x', nmae: 1, other: 2 }, [], schema.strict());
  assert.deepEqual(
    [unknown.code, unknown.param, unknown.message],
    ['unknown_parameter', 'nmae', 'Unknown parameter: nmae.'],
  );
});

test('the param starts where the value stands in the client’s event', () => {
  assert.equal(
    refusalOf({ name: 'x', list: [{ 'odd key': 1 }, {}] }, ['input', 3]).param,
    'input[3].list[1].odd key',
  );
});

test('a value that is wrong as a whole names no field', () => {
  const refused = refusalOf('text');
  assert.deepEqual([refused.code, refused.param], ['invalid_value', null]);
  assert.match(refused.message, /^Invalid value for the request: /);
});

test('a field that holds undefined or stands below a text is told apart from a missing one', () => {
  assert.equal(refusalOf({ name: undefined }).code, 'missing_required_parameter');
  assert.equal(refusalOf({ name: null }).code, 'invalid_value');
  assert.equal(refusalOf({ name: 'x', list: 'text' }).code, 'invalid_value');
});

test('an error without an issue is an invalid value all the same', () => {
  assert.equal(protocolErrorFor(new z.ZodError([]), {}).code, 'invalid_value');
});

test('a schema that chooses by a field says what is wrong inside, with its whole path', () => {
  const shape = dispatched<unknown>((raw) => {
    if (typeOf(raw) === 'circle') return z.strictObject({ type: z.string(), radius: z.number() });
    return typeOf(raw) === undefined ? 'expected a shape' : z.looseObject({});
  });
  const shapes = z.object({ shapes: z.array(shape) });
  assert.equal(refusalOf({ shapes: [{ type: 'circle' }] }, [], shapes).param, 'shapes[0].radius');
  assert.equal(refusalOf({ shapes: [{ type: 'circle' }] }, [], shapes).code, 'missing_required_parameter');
  assert.match(refusalOf({ shapes: [7] }, [], shapes).message, /shapes\[0\]: expected a shape\./);
  assert.match(
    refusalOf({ shapes: [{ type: 'circle', radius: 1, x: 1 }] }, [], shapes).message,
    /unknown field x/,
  );
  assert.deepEqual(parse(shapes, { shapes: [{ type: 'dot' }] }), { shapes: [{ type: 'dot' }] });
});

test('the body of an error is what clients read: type, code, message, param, and when to come again (P63, P68)', () => {
  const refused = new ProtocolError('rate_limit_exceeded', 'Too many.', { retryAfterSeconds: 7 });
  assert.equal(refused.status, 429);
  assert.deepEqual(refused.toBody(), {
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    message: 'Too many.',
    param: null,
    headers: { 'retry-after': '7' },
  });
  assert.equal('headers' in new ProtocolError('invalid_value', 'x', { param: 'a' }).toBody(), false);
});

test('the text of an unknown fault stays in the process, and a known one passes (P67)', () => {
  const fault = new Error('ENOENT /srv/secret.ts:14');
  const shown = toProtocolError(fault);
  assert.deepEqual([shown.code, shown.status, shown.cause], ['server_error', 500, fault]);
  assert.ok(!JSON.stringify(shown.toBody()).includes('secret'));
  const known = new ProtocolError('superseded', 'x');
  assert.equal(toProtocolError(known), known);
  assert.equal(toProtocolError('thrown text').code, 'server_error');
});
