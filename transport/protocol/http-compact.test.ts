import assert from 'node:assert/strict';

import { message, say, turn } from '../../engine/testing/lab.js';
import { overEveryWire } from '../testing/wire.js';

const path = '/v1/responses/compact';
const history = [message('name three colours'), { role: 'assistant', content: 'red, green, blue' }];

interface Compacted {
  readonly id: string;
  readonly object: string;
  readonly created_at: number;
  readonly output: readonly { readonly type: string; readonly id: string }[];
  readonly usage: { readonly input_tokens: number };
}

overEveryWire(
  'a conversation is compacted without sampling, and its output begins another as it is (P46)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')));
    for (const design of ['chain', 'shim', 'append']) {
      const http = serving.http({ design });
      const told = await http.ask('POST', path, { model: 'm', input: history, prompt_cache_key: 'k' });
      const { object, output, usage } = told.body as Compacted;
      assert.deepEqual([told.status, object], [200, 'response.compaction']);
      assert.equal(output.at(-1)?.type, 'compaction');
      assert.ok(usage.input_tokens >= 0);
      const before = serving.lab.turns.length;
      const events = await http.turn({ input: [...output, message('go on')] });
      assert.equal(events.at(-1)?.type, 'response.completed');
      assert.deepEqual([before + 1, serving.lab.prompt.at(-1)], [serving.lab.turns.length, 'user: go on']);
    }
  },
);

overEveryWire('an item that is named by its id is compacted like one that is sent', async (wire) => {
  await using serving = await wire.serve(() => turn(say('done')));
  const http = serving.http({ design: 'chain' });
  const { output } = (await http.create()).response;
  const said: unknown[] = [];
  for (const item of [{ type: 'item_reference', id: output[0]?.id }, output[0]]) {
    const { output: compacted } = (await http.ask('POST', path, { model: 'm', input: [item] }))
      .body as Compacted;
    said.push(compacted.map((one) => ({ ...one, id: '' })));
  }
  assert.deepEqual(said[0], said[1]);
});

overEveryWire(
  'a compaction is refused where a create would be, and has no id to go on from (P47)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')));
    const http = serving.http({ design: 'chain' });
    for (const [body, status, code, param] of [
      [{ input: history }, 400, 'missing_required_parameter', 'model'],
      [{ model: 'unserved', input: history }, 404, 'model_not_found', 'model'],
      [{ model: 'm', input: 7 }, 400, 'invalid_value', 'input'],
      [
        { model: 'm', previous_response_id: 'resp_x' },
        400,
        'previous_response_not_found',
        'previous_response_id',
      ],
    ] as const) {
      const told = await http.ask('POST', path, body);
      assert.deepEqual([told.status, told.error.code, told.error.param], [status, code, param]);
    }
    assert.equal(serving.lab.turns.length, 0);
    const { id } = (await http.ask('POST', path, { model: 'm', input: history })).body as Compacted;
    assert.equal((await http.get(id)).status, 404);
    const { error } = await http.create({ previous_response_id: id });
    assert.equal(error.code, 'previous_response_not_found');
  },
);
