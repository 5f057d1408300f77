/**
 * The state machine under every interleaving: appends right, wrong, partial, early and again, cancels, deadlines,
 * readers that come and go, faults of the model and of stages.
 */
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import type { LiveResponse } from './live-response.js';
import { checkGrammar } from './testing/grammar.js';
import { eventsOf, Lab, message, refusal, say, turn, typesOf } from './testing/lab.js';
import { Play } from './testing/play.js';
import { windowsOf } from './testing/windows.js';
import { acts, worlds } from './testing/worlds.js';

/** What a client was promised, held against what the conversation holds in the end. */
async function checkPromises({ sent }: Play, response: LiveResponse): Promise<void> {
  const { transcript, owed } = response.kept;
  const items = transcript.items();
  const texts = items.map((item) =>
    'content' in item ? item.content : 'output' in item ? item.output : null,
  );
  const promised = new Map<string, boolean>();
  for (const { input, result } of sent) {
    const outcome = await result;
    for (const item of input) {
      const words = String('output' in item ? item['output'] : item['content']);
      promised.set(words, (promised.get(words) ?? false) || outcome === 'accepted');
    }
  }
  for (const [words, accepted] of promised)
    if (words !== 'x' && words !== 'undefined')
      assert.equal(
        texts.filter((text) => text === words).length,
        accepted ? 1 : 0,
        `${words}: accepted ${accepted}`,
      );
  assert.deepEqual([transcript.unanswered(), owed], [[], []], 'nothing is left unanswered');
  const order = (suffix: string): unknown[] =>
    items
      .filter((item) => item.type.endsWith(suffix))
      .map((item) => ('call_id' in item ? item.call_id : null));
  assert.deepEqual(order('_output'), order('_call'), 'outputs stand in call order');
}

function checkStreams({ readers }: Play, response: LiveResponse): void {
  const [first] = readers;
  assert.ok(first !== undefined);
  checkGrammar(first.events, { native: true });
  const terminals = first.events.filter((event) => /\.(?:completed|failed|incomplete)$/.test(event.type));
  assert.equal(terminals.length, 1);
  for (const { from, events } of readers)
    assert.deepEqual(events, first.events.slice(from, from + events.length), 'every reader sees the same');
  const [created] = first.events;
  assert.ok(created?.type === 'response.created');
  for (const stream of windowsOf(created.response, first.entries)) checkGrammar(stream);
  assert.equal(response.lastNumber, first.events.length - 1);
}

function checkNothingLeft({ lab, signals }: Play): void {
  assert.equal(lab.engine.liveCount, 0);
  assert.equal(lab.clock.pending, 0, 'a timer is left on the clock');
  for (const signal of signals)
    assert.equal(getEventListeners(signal, 'abort').length, 0, 'a listener is left');
  assert.equal(lab.model.stats.released, lab.model.stats.opened);
}

test('whatever happens in whatever order, a rollout ends once and leaves nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.array(acts, { maxLength: 30 }), async (world, all) => {
      const play = new Play(world);
      const response = await play.begin();
      if (response !== null) {
        for (const act of all) await play.act(response, act);
        await play.lab.clock.runUntil(response.settled);
        const { stageRuns } = response;
        const late = world.stageFault?.phase === 'late' || world.stageFault?.phase === 'post';
        for (const stage of ['classify', 'store', 'bill', ...(late ? ['faulty'] : [])])
          assert.equal(stageRuns[`post.${stage}`]?.runs, 1, `post.${stage}`);
        assert.equal(stageRuns['pre.validate']?.runs, 1);
        await play.lab.clock.runUntil(Promise.all(play.sent.map(({ result }) => result)));
        await play.lab.settle();
        await checkPromises(play, response);
        checkStreams(play, response);
      } else
        assert.deepEqual(
          Object.keys(play.lab.engine.stageRuns).filter((key) => key.startsWith('post')),
          [],
        );
      await play.lab.settle();
      checkNothingLeft(play);
    }),
    { seed: 2026, numRuns: 400, includeErrorInReport: true },
  );
});

test('a message that comes in the very step in which the last turn ends is taken whole or refused', async () => {
  // Nothing takes time here, so the message meets the end of the rollout at each step of the microtasks before it.
  const fates = new Set<string>();
  for (let ticks = 0; ticks < 150; ticks++) {
    const lab = new Lab(({ turn: number }) => turn(say(number === 1 ? 'a final answer' : 'one more')));
    const response = await lab.engine.create({ model: 'scripted', input: 'hi' });
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
    const appended = response.append([message('wait')]).then(
      () => 'taken',
      () => 'refused',
    );
    await lab.settle();
    const fate = await appended;
    fates.add(fate);
    const messages = response.kept.transcript
      .items()
      .filter((item) => 'content' in item && item.content === 'wait');
    assert.deepEqual(
      [messages.length, lab.model.stats.turns],
      fate === 'taken' ? [1, 2] : [0, 1],
      `${ticks} ticks`,
    );
    checkGrammar(eventsOf(response), { native: true });
    assert.equal(typesOf(response).at(-1), 'response.completed');
  }
  assert.deepEqual([...fates], ['taken', 'refused']);
});

test('an append that is still being rendered when the rollout ends is refused, and nothing waits for ever', async () => {
  const deaf = new Promise<never>(() => undefined);
  const lab = new Lab([turn(say('a long answer'))], {
    decodeTokensPerSecond: 10,
    engine: {
      stages: (standard) => [
        ...standard,
        { name: 'deaf', phases: ['append'], reads: 'new', refuses: false, critical: true, run: () => deaf },
      ],
    },
  });
  const response = await lab.create();
  const refused = refusal(response.append([message('wait')]));
  await lab.clock.runUntil(response.settled);
  assert.equal((await refused).code, 'response_already_completed');
});
