import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { checkStream, ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];
const append = { design: 'append' };

overEveryWire(
  'the newest stream holds a Response, the one before is told and ends unmarked (B27)',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { graceMsMax: 1000 } });
    const http = serving.http(append);
    const first = await http.stream();
    const { response_id: id, required_input, sequence_number: newest } = await first.until('response.done');
    const second = await http.follow(id, newest);
    const [told, ...more] = await first.restUnmarked();
    assert.ok(told?.type === 'error');
    assert.deepEqual([told.error.code, told.status, told.response_id], ['superseded', 409, id]);
    assert.deepEqual(more, []);
    await serving.lab.clock.advance(5000);
    assert.equal(serving.response(id).suspended, true, 'its end starts no grace time');
    await http.append(id, output(required_input[0]?.call_id, 'x'));
    assert.equal((await second.rest()).at(-1)?.type, 'response.completed');
  },
);

overEveryWire(
  'what a socket holds can be read over HTTP, and not appended to or cancelled there',
  async (wire) => {
    await using serving = await wire.serve(script);
    await using peer = await serving.connect();
    const id = await peer.create();
    const { required_input } = await peer.until('response.done');
    const http = serving.http(append);
    const events = await http.follow(id);
    await events.until('response.done');
    const answer = output(required_input[0]?.call_id, 'x');
    for (const told of [await http.append(id, answer), await http.cancel(id)]) {
      assert.deepEqual(
        [told.status, told.error.code, told.error.param],
        [409, 'not_attached', 'response_id'],
      );
      assert.match(told.error.message, /socket/);
    }
    peer.append(id, answer);
    await peer.until('response.completed');
    assert.equal((await events.rest()).at(-1)?.type, 'response.completed');
    checkStream(events.taken);
  },
);

overEveryWire(
  'a socket takes a Response over from a stream, and a stream from a socket that has gone',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http(append);
    const first = await http.stream();
    const { response_id: id, required_input } = await first.until('response.done');
    {
      await using peer = await serving.connect();
      peer.attach(id, 0);
      await peer.until('response.attached');
      const [told] = await first.restUnmarked();
      assert.equal(told?.type === 'error' && told.error.code, 'superseded');
    }
    await serving.closings.next();
    const second = await http.follow(id);
    await http.append(id, output(required_input[0]?.call_id, 'x'));
    checkStream(await second.rest());
  },
);

overEveryWire(
  'a stream that breaks starts the grace time, an append does not stop it, a new stream does (B23, P81)',
  async (wire) => {
    await using serving = await wire.serve(script, { limits: { graceMsMax: 10_000 } });
    const http = serving.http(append);
    const ends: string[] = [];
    for (const returns of [true, false]) {
      const events = await http.stream();
      const { response_id: id, required_input } = await events.until('response.done');
      events.stream.drop();
      await untilFree(() => serving.server.host.holders.holderOf(serving.response(id)) === null);
      await serving.lab.clock.advance(9999);
      const again = returns ? await http.follow(id) : null;
      await serving.lab.clock.advance(10_000);
      if (again !== null) {
        await http.append(id, output(required_input[0]?.call_id, 'x'));
        await again.rest();
      }
      const { outcome } = await serving.response(id).settled;
      ends.push('reason' in outcome ? outcome.reason : outcome.status);
    }
    assert.deepEqual(ends, ['completed', 'disconnected']);
    assert.equal(serving.lab.engine.stageRuns['post.bill']?.runs, 2);
  },
);

async function untilFree(isFree: () => boolean): Promise<void> {
  while (!isFree()) await new Promise(setImmediate);
}

for (const limits of [{}, { shutdownMsMax: 0 }])
  overEveryWire(
    `on the way out a suspended Response is lost, and its stream says so ${'shutdownMsMax' in limits ? 'at once' : 'in time'} (B100)`,
    async (wire) => {
      await using serving = await wire.serve(script, { limits });
      const http = serving.http(append);
      const events = await http.stream();
      const { response_id: id } = await events.until('response.done');
      const standard = await serving.http({ design: 'chain' }).follow(id);
      await standard.until('response.created');
      await serving.server.drain();
      const [told, ...more] = await events.restUnmarked();
      assert.ok(told?.type === 'error');
      assert.deepEqual([told.error.code, told.status, told.response_id], ['server_shutting_down', 503, id]);
      assert.deepEqual(more, []);
      const [end] = ofType(await standard.rest(), 'response.incomplete');
      assert.equal(end?.response.status, 'cancelled');
      const late = await http.refusedStream({});
      assert.deepEqual([late.status, late.error.code], [503, 'server_shutting_down']);
      assert.equal(late.headers['retry-after'], '1');
      assert.deepEqual(late.error.headers, { 'retry-after': '1' });
    },
  );
