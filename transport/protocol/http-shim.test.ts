import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];

function callIn(items: readonly object[]): string {
  const [callId] = items.flatMap((item) => ('call_id' in item ? [item.call_id] : []));
  assert.ok(typeof callId === 'string');
  return callId;
}

function passages({ lab }: Serving): unknown[] {
  return ['pre.validate', 'append.validate', 'post.bill'].map(
    (stage) => lab.engine.stageRuns[stage]?.runs ?? 0,
  );
}

overEveryWire(
  'between two requests a rollout waits for the grace time; after it the next one begins another',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { graceMsMax: 10_000 } });
    const http = serving.http({ design: 'shim' });
    const counts: unknown[] = [];
    for (const waitMs of [9999, 10_000]) {
      const first = (await http.create()).response;
      await serving.lab.clock.advance(waitMs);
      const input = [output(callIn(first.output), 'x')];
      const { response } = await http.create({ previous_response_id: first.id, input });
      assert.equal(response.status, 'completed', 'its client notices nothing');
      assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: x']);
      counts.push(passages(serving));
    }
    assert.deepEqual(counts, [
      [1, 1, 1],
      [3, 1, 3],
    ]);
  },
);

overEveryWire(
  'of two requests at once from one place the first resumes the rollout, the second is a fork',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http({ design: 'shim' });
    const first = (await http.create()).response;
    const fields = { previous_response_id: first.id, input: [output(callIn(first.output), 'x')] };
    const told = await Promise.all([http.create(fields), http.turn(fields), http.create(fields)]);
    for (const one of told) {
      const response = 'response' in one ? one.response : ofType(one, 'response.completed')[0]?.response;
      assert.equal(response?.status, 'completed');
    }
    assert.deepEqual(passages(serving), [3, 1, 3]);
    assert.equal(serving.lab.engine.liveCount, 0);
  },
);

for (const design of ['chain', 'shim'])
  overEveryWire(`${design}: a response that still runs is nobody’s parent yet (P33, P39)`, async (wire) => {
    await using serving = await wire.serve([turn(say('one')), turn(say('two'))], { firstTokenMs: 1000 });
    const http = serving.http({ design });
    const events = await http.stream();
    const { response } = await events.until('response.created');
    const fields = { previous_response_id: response.id, input: 'go on' };
    assert.equal((await http.create(fields)).error.code, 'previous_response_not_found');
    await serving.lab.clock.advance(1000);
    await events.rest();
    const next = http.create(fields);
    while (serving.lab.turns.length < 2) await new Promise(setImmediate);
    await serving.lab.clock.advance(1000);
    assert.equal((await next).response.status, 'completed');
  });

for (const design of ['chain', 'shim'])
  overEveryWire(
    `${design}: a refused or failed continuation leaves a stored parent as it was (P34, B12)`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const http = serving.http({ design });
      const first = (await http.create()).response;
      const from = { previous_response_id: first.id };
      for (const input of [
        [],
        [output('call_x', 'x')],
        [output(callIn(first.output), 'x'), output(callIn(first.output), 'y')],
      ])
        assert.ok((await http.create({ ...from, input })).status >= 400);
      const { response } = await http.create({ ...from, input: [output(callIn(first.output), 'x')] });
      assert.equal(response.status, 'completed');
    },
  );
