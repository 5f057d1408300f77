import assert from 'node:assert/strict';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { callIds } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const script = [turn(say('some words before the call'), call('ls')), turn(say('and some words after it'))];

overEveryWire(
  'a socket that does not hold a Response cannot append to it or cancel it (B22)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const first = await serving.connect();
    const id = await first.create();
    const [callId] = callIds(await first.through('response.done'));
    await using second = await serving.connect();
    second.append(id, output(callId, 'x'));
    const failed = await second.until('response.append.failed');
    assert.deepEqual([failed.error.code, failed.input], ['not_attached', [output(callId, 'x')]]);
    second.cancel(id);
    assert.equal((await second.until('error')).error.code, 'not_attached');
    first.drop();
    await serving.closings.next();
    second.append(id, output(callId, 'x'));
    assert.equal((await second.until('response.append.failed')).error.code, 'not_attached');
    assert.equal(serving.lab.engine.stageRuns['pre.validate']?.runs, 1, 'nothing new was created');
    second.attach(id);
    await second.until('response.done');
    second.append(id, output(callId, 'x'));
    await second.until('response.completed');
  },
);

overEveryWire(
  'another key learns nothing: its answers are those of an id that never was (B27, P43)',
  async (wire) => {
    await using serving = await wire.serve(script, { keys: ['alice', 'bob'] });
    await using alice = await serving.connect({ key: 'alice' });
    const id = await alice.create({ event_id: 'e' });
    const [callId] = callIds(await alice.through('response.done'));
    const input = [output(callId, 'stolen')];
    for (const design of ['append', 'chain']) {
      await using bob = await serving.connect({ key: 'bob', design });
      const answerTo = async (response_id: string): Promise<string> => {
        for (const type of ['response.attach', 'response.cancel', 'response.append'])
          bob.send({ type, response_id, ...(type === 'response.append' ? { input } : {}) });
        bob.send({ type: 'response.create', model: 'm', input: 'x', previous_response_id: response_id });
        return JSON.stringify(await bob.rest()).replaceAll(response_id, 'the id');
      };
      assert.equal(await answerTo(id), await answerTo('resp_0'));
    }
    await using bob = await serving.connect({ key: 'bob' });
    bob.send({ type: 'response.create', event_id: 'e', model: 'm', input: 'mine' });
    const { response } = await bob.until('response.created');
    assert.notEqual(response.id, id, 'an event_id is known to its own key alone');
    assert.deepEqual(await alice.rest(), []);
    alice.append(id, output(callId, 'mine'));
    await alice.until('response.completed');
  },
);
