/** The work before, between and after the turns: how often it runs, over what, and what its refusals do. */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import type { Stage } from '../stages.js';
import { call, Lab, message, output, postRuns, refusal, say, turn, typesOf } from '../testing/lab.js';

const flagged = 'how to build a pipe bomb';

const fiveTools = [...Array.from({ length: 5 }, () => turn(call('ls'))), turn(say('done'))];

/** A stage of a test's own, which does nothing where the test says nothing else. */
function stage(name: string, phases: Stage['phases'], fields: Partial<Stage> = {}): Stage {
  return { name, phases, reads: 'new', refuses: false, critical: true, run: () => undefined, ...fields };
}

function runsOf(runs: Readonly<Record<string, { runs: number }>>): Record<string, number> {
  return Object.fromEntries(Object.entries(runs).map(([name, tally]) => [name, tally.runs]));
}

test('work before and after inference runs once for a rollout, however many turns it has (B115)', async () => {
  const lab = new Lab(fiveTools, { session: { policy: 'per-conversation' } });
  const response = await lab.create();
  for (let number = 1; number <= 5; number++) await lab.append(response, output(`call_${number}`, 'x'));
  const { stage_runs, turns } = await response.settled;
  assert.equal(turns, 6);
  assert.deepEqual(runsOf(stage_runs), {
    'pre.validate': 1,
    'pre.admit': 1,
    'pre.resolve': 1,
    'pre.classify': 1,
    'pre.render': 1,
    'append.validate': 5,
    'append.admit': 5,
    'append.classify': 5,
    'append.render': 5,
    'post.classify': 1,
    'post.format': 1,
    'post.store': 1,
    'post.bill': 1,
  });
  const { heldTokens, readTokens, opened } = lab.model.stats;
  assert.equal(readTokens, '<user<hi>'.length + 5 * '<tool<x>'.length, 'the first prompt was read once');
  assert.ok(heldTokens > 0);
  assert.equal(opened, 1);
  assert.deepEqual(runsOf(lab.engine.stageRuns), runsOf(stage_runs));
});

test('append stages work on the new items alone, as their receipts show', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create('a long question '.repeat(10));
  await lab.append(response, output('call_1', '12345'), message('hey'));
  await lab.append(response, output('call_2', '1'));
  const appended = response.receipts.filter(({ phase }) => phase === 'append');
  assert.deepEqual(
    appended.map(({ stage: name, items, turn: at, result }) => [name, items, at, result]),
    [2, 1].flatMap((items) =>
      ['validate', 'admit', 'classify', 'render'].map((name) => [name, items, 2, 'passed']),
    ),
  );
  assert.deepEqual(
    appended.filter(({ stage: name }) => name === 'render').map(({ tokens }) => tokens),
    ['<tool<12345><user<hey>'.length, '<tool<1>'.length],
  );
  const post = response.receipts.find(({ phase, stage: name }) => phase === 'post' && name === 'store');
  assert.equal(post?.items, 1 + 2 + 3 + 1, 'what was asked, called, answered and said');
});

test('a resend goes no further than validation', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  await lab.append(response, output('call_1', 'x'));
  await lab.append(response, output('call_1', 'x'));
  assert.deepEqual(
    ['append.validate', 'append.classify', 'append.render'].map((name) => response.stageRuns[name]?.runs),
    [2, 1, 1],
  );
});

test('a flagged create is refused before anything exists, and no post-inference runs', async () => {
  const lab = new Lab([turn(say('done'))]);
  const refused = await refusal(
    lab.engine.create({ model: 'scripted', input: [message('hi'), message(flagged)] }),
  );
  assert.deepEqual([refused.code, refused.status, refused.param], ['invalid_prompt', 400, 'input[1]']);
  assert.deepEqual([lab.engine.liveCount, lab.engine.endedCount, lab.model.stats.opened], [0, 0, 0]);
  assert.deepEqual(runsOf(lab.engine.stageRuns), {
    'pre.validate': 1,
    'pre.admit': 1,
    'pre.resolve': 1,
    'pre.classify': 1,
  });
  assert.deepEqual([lab.store.size, lab.store.bills], [0, []]);
});

test('a flagged append is refused whole, and the Response stays suspended and can go on', async () => {
  const lab = new Lab([turn(call('a'), call('b')), turn(say('done'))]);
  const response = await lab.create();
  const refused = await refusal(response.append([output('call_1', 'fine'), output('call_2', flagged)]));
  assert.deepEqual([refused.code, refused.param], ['invalid_prompt', 'input[1]']);
  assert.deepEqual([response.suspended, response.requiredInput.length], [true, 2]);
  assert.equal(response.receipts.at(-1)?.result, 'refused');
  await lab.append(response, output('call_1', 'fine'), output('call_2', 'fine too'));
  assert.equal((await response.settled).outcome.status, 'completed');
  assert.equal(
    lab.prompt.some((block) => block.includes(flagged)),
    false,
  );
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('flagged output makes the Response incomplete, and what comes after sees it so', async () => {
  const seen: unknown[] = [];
  const audit = stage('audit', ['post'], { run: ({ outcome }) => void seen.push(outcome) });
  const lab = new Lab([turn(say(`here is ${flagged}`))], { engine: { stages: (all) => [...all, audit] } });
  const response = await lab.create();
  const outcome = { status: 'incomplete', reason: 'content_filter' };
  assert.deepEqual((await response.settled).outcome, outcome);
  assert.deepEqual(seen, [outcome]);
  assert.equal(typesOf(response).at(-1), 'response.incomplete');
  assert.equal((await lab.store.load(response.id, ''))?.status, 'incomplete');
  assert.equal(lab.store.bills[0]?.status, 'incomplete');
  assert.deepEqual(postRuns(response), [1, 1, 1]);
});

test('a flagged call is left to nobody, so that the conversation can go on', async () => {
  const lab = new Lab([turn(call('sh', flagged)), turn(say('done'))]);
  const response = await lab.create('hi', { handOff: 'complete' });
  assert.equal((await response.settled).outcome.status, 'incomplete');
  assert.deepEqual(response.kept.owed, []);
  assert.equal(response.snapshot().output[0]?.['status'], 'incomplete');
  const next = await lab.create('something else', { kept: response.kept, handOff: 'complete' });
  assert.equal((await next.settled).outcome.status, 'completed');
  assert.deepEqual(lab.prompt.slice(-2), ['tool: aborted', 'user: something else']);
});
