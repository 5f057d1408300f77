import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';

import { call, customCall, say, turn } from '../../engine/testing/lab.js';
import { callIds, ofType } from '../testing/events.js';
import { isPause } from '../testing/peer.js';
import { overEveryWire, type Serving } from '../testing/wire.js';
import { wrongCreates, wrongLimits } from '../testing/wrong-creates.js';

const contextTokensMax = 1000;
const script = () => turn(call('ls'), customCall('patch'), say(''));

interface Ids {
  readonly R: string;
  readonly F: string;
  readonly C: string;
}

/** A response of that design that owes two calls, made over HTTP. */
async function owing(serving: Serving, design: string): Promise<Ids> {
  const http = serving.http({ design });
  const events = await http.stream();
  const taken = await events.through(design === 'append' ? 'response.done' : 'response.completed');
  const [F = '', C = ''] = callIds(taken);
  return { R: ofType(taken, 'response.created')[0]?.response.id ?? '', F, C };
}

function named(fields: object, ids: Ids): object {
  const text = JSON.stringify({ model: 'm', input: 'hi', ...fields });
  return JSON.parse(text.replace(/"([RFC])"/g, (_, id: keyof Ids) => JSON.stringify(ids[id]))) as object;
}

interface Said {
  readonly status: number;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly param: string | null;
    type: string;
  };
}

/** What each route says to it. */
async function saidBy(serving: Serving, design: string, fields: object): Promise<Said[]> {
  const http = serving.http({ design });
  await using peer = await serving.connect({ design });
  peer.send({ ...fields, type: 'response.create' });
  const refused = (await peer.through(isPause)).at(-1);
  assert.ok(refused?.type === 'error', `${refused?.type} for ${JSON.stringify(fields)}`);
  const { status, error } = refused;
  const body = JSON.stringify(fields);
  const streamed = JSON.stringify({ ...fields, stream: true });
  const asked = [
    await http.ask('POST', '/v1/responses', streamed),
    ...(design === 'append' ? [] : [await http.ask('POST', '/v1/responses', body)]),
  ];
  return [{ status, error }, ...asked.map((told) => ({ status: told.status, error: told.error }))];
}

for (const design of ['chain', 'shim', 'replay', 'append'])
  overEveryWire(
    `${design}: what is wrong is said in the same words on a socket, as a stream and as JSON (P63, P64, B32, B62, B64)`,
    async (wire) => {
      await using serving = await wire.serve(script, { limits: wrongLimits, contextTokensMax });
      const others: unknown[] = [];
      for (const { what, fields, owes, refused } of wrongCreates) {
        if (owes && design === 'replay') continue;
        const ids = owes ? await owing(serving, design) : { R: 'R', F: 'F', C: 'C' };
        const said = await saidBy(serving, design, named(fields, ids));
        for (const { status, error } of said) {
          const found = [status, error.code, error.param];
          if (!isDeepStrictEqual(found, refused)) others.push([what, ...found, error.message]);
          assert.deepEqual({ ...error }, { ...said[0]?.error }, what);
          assert.match(error.message, /\.$/, 'a sentence');
          assert.doesNotMatch(
            error.message,
            /\/(home|usr|dist)\/|\bat .*:\d+|node:|Error:|127\.0\.0\.1/,
            'P67',
          );
        }
      }
      assert.deepEqual(others, []);
      for (const response of serving.lab.engine.live())
        assert.equal(response.suspended, true, 'nothing was begun by any of it');
    },
  );

overEveryWire('what is no JSON object is refused in the words of a socket (P9, B68)', async (wire) => {
  await using serving = await wire.serve(script);
  for (const design of ['chain', 'shim', 'append'])
    for (const text of [
      '',
      ']',
      '{',
      'null',
      '"hi"',
      '[]',
      '7',
      `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
    ]) {
      await using peer = await serving.connect({ design });
      peer.sendText(text);
      const { status, error } = await peer.until('error');
      const told = await serving.http({ design }).ask('POST', '/v1/responses', text);
      assert.deepEqual({ status: told.status, error: told.error }, { status, error }, text);
    }
});
