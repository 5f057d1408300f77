/** A history held against a rollout that is under way. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred } from '../clock.js';
import { call, Lab, message, output, say, turn, unitTokenizer } from '../testing/lab.js';

test('what a turn sampled is found once, in the turn or in the transcript, while it is being rendered', async () => {
  const rendered = deferred<void>();
  const lab = new Lab([turn(say('a text that takes its time'), call('ls'))], {
    engine: {
      tokenizer: {
        encode: (text, signal) => {
          const tokens = unitTokenizer.encode(text, signal);
          return text.startsWith('a text') ? rendered.promise.then(() => tokens) : tokens;
        },
      },
    },
  });
  const response = await lab.create('hi');
  const unseen = { beyond: [], unseen: 2, outputItems: 0 };
  assert.deepEqual(response.overlap([message('hi')], 0), unseen);
  assert.equal(response.suspended, false);
  rendered.resolve();
  while (!response.suspended) {
    await Promise.resolve();
    assert.deepEqual(response.overlap([message('hi')], 0), unseen);
  }
  response.cancel();
  await response.settled;
});

test('an answer that was taken belongs to the history, whether the loop has gone on or not', async () => {
  const lab = new Lab([turn(call('ls'), call('cat')), turn(say('done'))]);
  const response = await lab.create('hi');
  const items = response.kept.transcript.items();
  const [ls, cat] = [output('call_1', '1'), output('call_2', '2')];
  await response.append([cat]);
  assert.equal(response.overlap([...items, ls], 0), null, 'it is lacked');
  assert.deepEqual(response.overlap([...items, cat, ls], 0), { beyond: [4], unseen: 0, outputItems: 2 });
  const paid = response.append([ls]);
  while (response.suspended) await Promise.resolve();
  assert.deepEqual(response.overlap([...items, cat, ls], 0), { beyond: [], unseen: 0, outputItems: 2 });
  await paid;
  await response.settled;
  assert.deepEqual(response.overlap([...items, cat, ls], 0), { beyond: [], unseen: 1, outputItems: 2 });
});
