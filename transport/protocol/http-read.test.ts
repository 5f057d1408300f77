import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { anonymous, callIds, checkStream, numbersOf, ofType } from '../testing/events.js';
import type { Told } from '../testing/http-peer.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(say('let me look'), call('ls')), turn(say('done'))];

function callIn(items: readonly object[] = []): string {
  const [callId] = items.flatMap((item) => ('call_id' in item ? [item.call_id] : []));
  assert.ok(typeof callId === 'string');
  return callId;
}

const designs = ['append', 'chain', 'shim', 'replay'] as const;

function refusalOf(told: Told): unknown[] {
  const { code, param } = told.error;
  return [told.status, code, param];
}

for (const design of designs)
  overEveryWire(`${design}: a response is read while it runs and after, as often as asked`, async (wire) => {
    await using serving = await wire.serve([turn(say('a'.repeat(40)))], {
      decodeTokensPerSecond: 10,
      deltaTokensMax: 1,
    });
    const http = serving.http({ design });
    const created = await http.stream({ metadata: { a: 'b' } });
    const { response } = await created.until('response.created');
    const running = (await http.get(response.id)).response;
    assert.deepEqual(
      [running.id, running.status, running.metadata],
      [response.id, 'in_progress', { a: 'b' }],
    );
    await serving.lab.clock.advance(60_000);
    const rest = await created.rest();
    assert.deepEqual((await http.get(response.id)).response, ofType(rest, 'response.completed')[0]?.response);
    checkStream(await (await http.follow(response.id)).rest());
    assert.deepEqual(await (await http.follow(response.id)).rest(), created.taken, 'byte for byte, again');
  });

for (const design of ['chain', 'shim'] as const)
  overEveryWire(
    `${design}: a stream by id begins at the beginning, or after the number that was asked (B29, B29, P50)`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const http = serving.http({ design });
      const first = await http.turn();
      const { id } = ofType(first, 'response.created')[0]?.response ?? {};
      assert.ok(id);
      await http.turn({ previous_response_id: id, input: [output(callIds(first)[0], 'x')] });
      const again = await http.follow(id);
      assert.deepEqual(await again.rest(), first, 'the turn alone, whatever came after it');
      for (const place of [0, 1, first.length - 2]) {
        const rest = await (await http.follow(id, place)).rest();
        assert.deepEqual(rest, first.slice(place + 1));
        assert.equal(ofType(rest, 'response.created').length, 0);
      }
      assert.deepEqual(await (await http.follow(id, first.length - 1)).rest(), [], 'all of it has been seen');
    },
  );

overEveryWire('a stream by id joins a turn that runs, of a socket too (B29)', async (wire) => {
  await using serving = await wire.serve([turn(say('a'.repeat(80)))], {
    decodeTokensPerSecond: 10,
    deltaTokensMax: 1,
  });
  for (const design of ['chain', 'shim', 'append']) {
    await using peer = await serving.connect({ design });
    const id = await peer.create();
    await serving.lab.clock.advance(500);
    const events = await serving.http({ design: 'chain' }).follow(id, 1);
    await serving.lab.clock.advance(60_000);
    await peer.until('response.completed');
    const joined = await events.rest();
    assert.deepEqual(
      numbersOf(joined),
      joined.map((_, index) => index + 2),
    );
    assert.equal(joined.at(-1)?.type, 'response.completed');
    const own = peer.received.slice(2).map((event) => ({ ...event, response_id: undefined }));
    assert.deepEqual(anonymous(joined), anonymous(own));
  }
});

overEveryWire(
  'events that are no longer kept are refused by name, and the state is there all the same (B30)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('b'.repeat(4000))), {
      deltaTokensMax: 1,
      decodeTokensPerSecond: 1000,
      limits: { logBytesMax: 4096, endedResponsesMax: 3 },
    });
    const asked: Told[] = [];
    for (const design of designs) {
      const http = serving.http({ design });
      const events = design === 'append' ? await http.stream() : null;
      const made = events === null ? http.create() : null;
      const created = await events?.until('response.created');
      await serving.lab.clock.advance(60_000);
      const responseId = created?.response.id ?? (await made)?.response.id ?? '';
      asked.push(await http.ask('GET', `/v1/responses/${responseId}?stream=true`));
      assert.equal((await http.get(responseId)).response.output.length, 1);
      if (design !== 'append')
        assert.equal((await http.get(responseId)).response.status, 'completed', 'JSON has missed nothing');
    }
    assert.deepEqual(
      asked.map(refusalOf),
      designs.map(() => [410, 'replay_expired', 'starting_after']),
    );
    const http = serving.http({ design: 'chain' });
    const { id } = (await Promise.all([http.create(), serving.lab.clock.advance(60_000)]))[0].response;
    for (let count = 0; count < 3; count++)
      await Promise.all([http.create({ store: false }), serving.lab.clock.advance(60_000)]);
    assert.deepEqual(refusalOf(await http.ask('GET', `/v1/responses/${id}?stream=true`)), [
      410,
      'replay_expired',
      'stream',
    ]);
    assert.equal((await http.get(id)).response.status, 'completed');
  },
);

overEveryWire('what a response was asked is listed, in order and page by page', async (wire) => {
  await using serving = await wire.serve(script);
  for (const design of ['chain', 'shim', 'append']) {
    const http = serving.http({ design });
    const input = [message('one'), { role: 'developer', content: [{ type: 'input_text', text: 'two' }] }];
    const events = design === 'append' ? await http.stream({ input }) : null;
    const first = events === null ? (await http.create({ input })).response : null;
    const id = first?.id ?? (await events?.until('response.created'))?.response.id ?? '';
    const done = await events?.until('response.done');
    const callId = done?.required_input[0]?.call_id ?? callIn(first?.output);
    interface Listed {
      readonly object: string;
      readonly data: readonly {
        readonly id: string;
        readonly content?: { text: string }[];
        call_id?: string;
      }[];
      readonly first_id: string | null;
      readonly last_id: string | null;
      readonly has_more: boolean;
    }
    const list = async (of: string, query: string) => (await http.inputItems(of, query)).body as Listed;
    const textsOf = ({ data }: Listed) => data.map((item) => item.content?.[0]?.text ?? item.call_id);
    const all = await list(id, '?order=asc');
    assert.deepEqual([all.object, textsOf(all), all.has_more], ['list', ['one', 'two'], false]);
    assert.deepEqual(textsOf(await list(id, '')), ['two', 'one'], 'the newest first, unless asked');
    const page = await list(id, '?order=asc&limit=1');
    assert.deepEqual([textsOf(page), page.has_more, page.first_id], [['one'], true, page.last_id]);
    const next = await list(id, `?order=asc&limit=1&after=${page.last_id}`);
    assert.deepEqual([textsOf(next), next.has_more], [['two'], false]);
    const end = await list(id, `?order=asc&after=${next.last_id}`);
    assert.deepEqual([end.data, end.first_id, end.last_id, end.has_more], [[], null, null, false]);
    for (const [query, status, code, param] of [
      ['?after=item_x', 404, 'item_not_found', 'after'],
      ['?limit=0', 400, 'invalid_value', 'limit'],
      ['?limit=101', 400, 'invalid_value', 'limit'],
      ['?limit=x', 400, 'invalid_value', 'limit'],
      ['?order=up', 400, 'invalid_value', 'order'],
    ] as const)
      assert.deepEqual(refusalOf(await http.inputItems(id, query)), [status, code, param], query);
    const answer = output(callId, 'x');
    if (events !== null) {
      await http.append(id, answer);
      assert.deepEqual(textsOf(await list(id, '?order=asc')), ['one', 'two', callId], 'appends too');
    } else {
      const second = (await http.create({ previous_response_id: id, input: [answer] })).response;
      assert.deepEqual(textsOf(await list(second.id, '?order=asc')), [callId], 'its own alone');
    }
  }
});

overEveryWire('a count is what a create of the same fields reads', async (wire) => {
  await using serving = await wire.serve(script);
  const http = serving.http({ design: 'chain' });
  const fields = {
    model: 'm',
    input: 'hi',
    instructions: 'be brief',
    tools: [{ type: 'function', name: 'ls' }],
  };
  const counted = async (asked: object): Promise<unknown> =>
    (await http.ask('POST', '/v1/responses/input_tokens', asked)).body;
  const object = 'response.input_tokens';
  const before = await counted(fields);
  const { id, usage, output: items } = (await http.create(fields)).response;
  assert.deepEqual(before, { object, input_tokens: usage?.input_tokens });
  const input = [output(String(items[1]?.['call_id']), 'x')];
  const next = { ...fields, input, previous_response_id: id };
  const after = await counted(next);
  const second = (await http.create(next)).response;
  assert.deepEqual(after, { object, input_tokens: second.usage?.input_tokens });
  const referring = {
    ...fields,
    input: [{ type: 'item_reference', id: second.output[0]?.id }, message('x')],
  };
  const referred = await counted(referring);
  assert.deepEqual(referred, {
    object,
    input_tokens: (await http.create(referring)).response.usage?.input_tokens,
  });
  assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 3, 'a count admits nothing');
});
