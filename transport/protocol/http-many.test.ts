import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { checkStream, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const perTurn = ['chain', 'shim', 'replay'] as const;

overEveryWire(
  'seventeen requests at once, sockets, streams and JSON of every design, are all served (P83)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')), { firstTokenMs: 1000 });
    const kinds = ['socket', 'stream', 'json'] as const;
    const asked = Array.from({ length: 17 }, async (_, index): Promise<unknown> => {
      const design = perTurn[index % 3] ?? 'chain';
      const kind = kinds[Math.floor(index / 3) % 3];
      const http = serving.http({ design });
      if (kind === 'json') return (await http.create()).response.status;
      if (kind === 'stream') return ofType(await http.turn(), 'response.completed')[0]?.response.status;
      await using peer = await serving.connect({ design });
      return ofType(await peer.turn(), 'response.completed')[0]?.response.status;
    });
    while (serving.lab.turns.length < 17) await new Promise(setImmediate);
    await serving.lab.clock.advance(1000);
    assert.deepEqual(
      await Promise.all(asked),
      Array.from({ length: 17 }, () => 'completed'),
    );
    assert.equal(serving.lab.engine.liveCount, 0);
  },
);

overEveryWire(
  'a silent stream says in_progress after each 30 s, in every design (P15, B95, B96)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')), { firstTokenMs: 100_000 });
    for (const design of [...perTurn, 'append']) {
      const events = await serving.http({ design }).stream();
      await events.until('response.created');
      await events.until('response.in_progress');
      for (let count = 0; count < 3; count++) {
        await serving.lab.clock.advance(30_000);
        await events.until('response.in_progress');
      }
      await serving.lab.clock.advance(10_000);
      await events.rest();
      checkStream(events.taken);
    }
  },
);

overEveryWire('of streams that are asked for at once the last one holds the Response', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
  const http = serving.http({ design: 'append' });
  const first = await http.stream();
  const { response_id: id, required_input, sequence_number: newest } = await first.until('response.done');
  const three = await Promise.all([1, 2, 3].map(() => http.follow(id, newest)));
  await http.append(id, output(required_input[0]?.call_id, 'x'));
  const ends = await Promise.all(
    three.map(async (events) => {
      const last = (await events.restUnmarked().catch(() => events.taken)).at(-1);
      return last?.type === 'error' ? last.error.code : last?.type;
    }),
  );
  assert.deepEqual(new Set(ends), new Set(['superseded', 'response.completed']));
  assert.equal(three.filter(({ done }) => done).length, 1);
});
