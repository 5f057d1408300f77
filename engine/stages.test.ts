import { test } from 'node:test';
import assert from 'node:assert/strict';

import { deferred, VirtualClock } from './clock.js';
import type { Outcome } from './outcome.js';
import { ProtocolError } from './protocol/errors.js';
import type { Item } from './protocol/items.js';
import { entry, transcriptOf, user } from './samplers/testing/turns.js';
import { Receipts, Tallies, type Phase } from './receipts.js';
import { noPreamble, Stages, type Passage, type Stage } from './stages.js';
import { call, callIdsOf, Lab, output, read, refusal, say, turn, typesOf } from './testing/lab.js';

type Run = Stage['run'];

function stage(name: string, run: Run = () => undefined, traits: Partial<Stage> = {}): Stage {
  return {
    name,
    phases: ['pre', 'append', 'post'],
    reads: 'new',
    refuses: true,
    critical: true,
    run,
    ...traits,
  };
}

function passageOf(phase: Phase, parts: Partial<Passage> = {}): Passage {
  return {
    phase,
    responseId: 'resp_1',
    credential: '',
    turn: 1,
    transcript: transcriptOf(entry(user('before'), 3)),
    pendingTokens: 0,
    obligations: {},
    kept: null,
    accept: (items) => items,
    signal: new AbortController().signal,
    outcome: phase === 'post' ? { status: 'completed' } : null,
    usage: null,
    raw: null,
    request: { model: 'm', input: [] },
    newItems: [user('now')],
    sampler: null,
    preamble: noPreamble,
    rendered: [],
    ...parts,
  };
}

const results = (receipts: Receipts): string[] =>
  receipts.newest.map(({ phase, stage: name, result }) => `${phase}.${name} ${result}`);
const refuse = (code: 'invalid_prompt' | 'limit_exceeded' = 'limit_exceeded'): never => {
  throw new ProtocolError(code, 'no');
};

test('stages run in order, each once, synchronous and not alike (G1, G2)', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const note = (word: string) => (): void => void order.push(word);
  const stages = new Stages(
    [
      stage('a', note('a')),
      stage('b', async () => {
        order.push('b begins');
        await clock.sleep(10, new AbortController().signal);
        order.push('b ends');
      }),
      stage('c', note('c')),
      stage('elsewhere', note('elsewhere'), { phases: ['append'] }),
    ],
    clock,
  );
  const receipts = new Receipts(new Tallies());
  await clock.runUntil(stages.admit(passageOf('pre'), receipts));
  assert.deepEqual(order, ['a', 'b begins', 'b ends', 'c']);
  assert.deepEqual(results(receipts), ['pre.a passed', 'pre.b passed', 'pre.c passed']);
});

for (const [what, run] of [
  ['throws', () => refuse()],
  ['rejects', () => Promise.reject(new ProtocolError('limit_exceeded', 'no'))],
] as [string, Run][])
  test(`a refusal that ${what} ends the passage, and every run before it has left a receipt (G2, G3)`, async () => {
    const stages = new Stages(
      [stage('a'), stage('b', run), stage('c', () => assert.fail('ran after a refusal'))],
      new VirtualClock(),
    );
    const receipts = new Receipts(new Tallies());
    await assert.rejects(stages.admit(passageOf('append'), receipts), { code: 'limit_exceeded' });
    assert.deepEqual(results(receipts), ['append.a passed', 'append.b refused']);
  });

test('a throw of a stage that may not refuse is a fault, and so is any other error of one that may (G3)', async () => {
  const receipts = new Receipts(new Tallies());
  for (const faulty of [
    stage('storing', () => refuse(), { refuses: false }),
    stage('broken', () => {
      throw new TypeError('x is undefined');
    }),
  ])
    await assert.rejects(new Stages([faulty], new VirtualClock()).admit(passageOf('pre'), receipts));
  assert.deepEqual(results(receipts), ['pre.storing failed', 'pre.broken failed']);
});

test('a post passage runs to its end, whatever one of its stages does (G2)', async () => {
  const stages = new Stages(
    [
      stage('a', () => Promise.reject(new Error('broken'))),
      stage('b', () => refuse('invalid_prompt')),
      stage('c'),
      stage('off', () => undefined, { critical: false, refuses: false }),
    ],
    new VirtualClock(),
  );
  const receipts = new Receipts(new Tallies());
  const passage = passageOf('post');
  const faults = await stages.finish(passage, receipts, true);
  assert.equal(faults.length, 2);
  assert.deepEqual(results(receipts), ['post.a failed', 'post.b refused', 'post.c passed']);
  await stages.finish(passage, receipts, false);
  assert.equal(results(receipts).at(-1), 'post.off passed');
});

for (const [what, run, refuses, outcome, expected] of [
  ['a refusal filters what was completed', () => refuse(), true, { status: 'completed' }, 'incomplete'],
  [
    'a fault fails what was completed',
    () => Promise.reject(new Error('x')),
    true,
    { status: 'completed' },
    'failed',
  ],
  [
    'a refusal by a stage that may not refuse is a fault',
    () => refuse(),
    false,
    { status: 'completed' },
    'failed',
  ],
  [
    'what has failed stays as it failed',
    () => refuse(),
    true,
    { status: 'failed', code: 'context_length_exceeded', message: 'too long' },
    'failed',
  ],
] as [string, Run, boolean, Outcome, string][])
  test(`after a post stage, ${what}, and the stages after it see that`, async () => {
    const seen: (Outcome | null)[] = [];
    const stages = new Stages(
      [stage('first', run, { refuses }), stage('next', (passage) => void seen.push(passage.outcome))],
      new VirtualClock(),
    );
    const passage = passageOf('post', { outcome });
    await stages.finish(passage, new Receipts(new Tallies()), true);
    assert.equal(passage.outcome?.status, expected);
    assert.deepEqual(seen, [passage.outcome]);
    if (outcome.status === 'failed') assert.deepEqual(passage.outcome, outcome);
  });

test('an aborted signal ends the wait for a deaf stage, which is left behind as failed (G3)', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const deaf = deferred<void>();
  const stages = new Stages(
    [stage('deaf', () => deaf.promise), stage('next', () => assert.fail('ran'))],
    clock,
  );
  const receipts = new Receipts(new Tallies());
  const passage = stages.admit(passageOf('pre', { signal: controller.signal }), receipts);
  controller.abort(new Error('gone'));
  await assert.rejects(passage, /gone/);
  assert.deepEqual(results(receipts), ['pre.deaf failed']);
  deaf.resolve();
  await clock.advance(0);
  assert.deepEqual(results(receipts), ['pre.deaf failed'], 'what it says later leaves no second receipt');
});

test('a stage that reads all gets the kept items too, one that reads the new ones does not', async () => {
  const seen: (readonly Item[])[] = [];
  const look: Run = (_, items) => void seen.push(items);
  const receipts = new Receipts(new Tallies());
  const stages = new Stages([stage('new', look), stage('all', look, { reads: 'all' })], new VirtualClock());
  await stages.admit(passageOf('append'), receipts);
  assert.deepEqual(seen, [[user('now')], [user('before'), user('now')]]);
  assert.deepEqual(
    receipts.newest.map(({ items }) => items),
    [1, 2],
  );
});

test('an append that turns out to bring nothing goes no further than the stage that found out', async () => {
  const stages = new Stages(
    [stage('find out', (passage) => void (passage.newItems = [])), stage('next', () => assert.fail('ran'))],
    new VirtualClock(),
  );
  await stages.admit(passageOf('append'), new Receipts(new Tallies()));
});

test('receipts say which turn, how many items and tokens, and how long, and the sums are kept (G3)', async () => {
  const clock = new VirtualClock();
  const total = new Tallies();
  const work: Run = async (passage) => {
    await clock.sleep(7, passage.signal);
    return { tokens: 11 };
  };
  const stages = new Stages([stage('work', work)], clock);
  for (const turnNumber of [1, 2]) {
    const receipts = new Receipts(total);
    await clock.runUntil(stages.admit(passageOf('append', { turn: turnNumber }), receipts));
    assert.deepEqual(receipts.newest, [
      { stage: 'work', phase: 'append', turn: turnNumber, items: 1, tokens: 11, ms: 7, result: 'passed' },
    ]);
    assert.deepEqual(receipts.runs, { 'append.work': { runs: 1, items: 1, tokens: 11, ms: 7 } });
  }
  assert.deepEqual(total.runs, { 'append.work': { runs: 2, items: 2, tokens: 22, ms: 14 } });
});

test('of many receipts the newest are kept, and the sums of all', () => {
  const receipts = new Receipts(new Tallies());
  for (let index = 0; index < 1000; index++)
    receipts.add({ stage: 's', phase: 'append', turn: index, items: 1, tokens: 0, ms: 0, result: 'passed' });
  assert.equal(receipts.newest.length, Receipts.keptMax);
  assert.deepEqual([receipts.newest[0]?.turn, receipts.newest.at(-1)?.turn], [936, 999]);
  assert.equal(receipts.runs['append.s']?.runs, 1000);
});

test('two stages of one name in one phase, or a refusal nobody waits for, are no list of stages', () => {
  const clock = new VirtualClock();
  assert.throws(() => new Stages([stage('x'), stage('x')], clock), /pre\.x/);
  assert.throws(() => new Stages([stage('x', undefined, { critical: false })], clock), /stage x refuses/);
  new Stages(
    [stage('x', undefined, { phases: ['pre'] }), stage('x', undefined, { phases: ['post'] })],
    clock,
  );
});

const script = [turn(call('ls')), turn(say('done'))];

test('a rollout of two turns passes exactly these stages, in this order (G1, G2, G3, B115)', async () => {
  const lab = new Lab(script);
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], 'x'));
  await response.settled;
  assert.deepEqual(
    response.receipts.map((receipt) => `${receipt.phase}.${receipt.stage} ${receipt.turn} ${receipt.result}`),
    [
      'pre.validate 1 passed',
      'pre.admit 1 passed',
      'pre.resolve 1 passed',
      'pre.classify 1 passed',
      'pre.render 1 passed',
      'append.validate 2 passed',
      'append.admit 2 passed',
      'append.classify 2 passed',
      'append.render 2 passed',
      'post.classify 2 passed',
      'post.format 2 passed',
      'post.store 2 passed',
      'post.bill 2 passed',
    ],
  );
});

test('an embedder adds a stage in one line, and it runs where its phases say', async () => {
  const seen: string[] = [];
  const audit = stage('audit', ({ phase }) => void seen.push(phase), {
    phases: ['pre', 'post'],
    refuses: false,
  });
  const lab = new Lab(script, { engine: { stages: (standard) => [...standard, audit] } });
  const response = await lab.create();
  await lab.append(response, output(callIdsOf(response)[0], 'x'));
  await response.settled;
  assert.deepEqual(seen, ['pre', 'post']);
  assert.deepEqual([response.stageRuns['pre.audit']?.runs, response.stageRuns['post.audit']?.runs], [1, 1]);
  assert.deepEqual(lab.engine.stageRuns['pre.audit']?.runs, 1);
});

test('a stage that an embedder has put first refuses a create, and nothing then exists (G2)', async () => {
  const gate = stage('gate', () => refuse(), { phases: ['pre'] });
  const lab = new Lab(script, { engine: { stages: (standard) => [gate, ...standard] } });
  assert.equal((await refusal(lab.create())).code, 'limit_exceeded');
  assert.deepEqual([lab.engine.liveCount, lab.engine.endedCount, lab.model.stats.opened], [0, 0, 0]);
  assert.deepEqual(Object.keys(lab.engine.stageRuns), ['pre.gate']);
});

test('a deaf stage at post is waited for as long as the bound says, and then fails the Response (S5, S8)', async () => {
  const deaf = stage('deaf', () => new Promise<never>(() => undefined), { phases: ['post'] });
  const lab = new Lab([turn(say('hi'))], {
    engine: { limits: { postMsMax: 5000 }, stages: (standard) => [deaf, ...standard] },
  });
  const response = await lab.create();
  await lab.clock.advance(4999);
  assert.equal(response.settlement, null);
  await lab.clock.advance(1);
  const { outcome } = await response.settled;
  assert.deepEqual([outcome.status, lab.clock.now(), lab.clock.pending], ['failed', 5000, 0]);
  assert.ok(outcome.status === 'failed' && outcome.message.includes('5000 ms'));
  const post = response.receipts.filter(({ phase }) => phase === 'post');
  assert.deepEqual(
    post.map(({ stage: name }) => name),
    ['deaf', 'classify', 'format', 'store', 'bill'],
    'the stages left run too, once',
  );
  assert.deepEqual(
    post.slice(0, 2).map(({ result }) => result),
    ['failed', 'passed'],
  );
});

test('a stage off the critical path runs after the terminal event, which ends every reader (decision 6)', async () => {
  const clearing = deferred<void>();
  const order: string[] = [];
  const late = stage('late', () => clearing.promise.then(() => void order.push('late')), {
    phases: ['post'],
    refuses: false,
    critical: false,
  });
  const lab = new Lab([turn(say('hi'))], {
    engine: { limits: { keepaliveMs: 1000 }, stages: (standard) => [late, ...standard] },
  });
  const response = await lab.create();
  const reading = read(response).ended.then(() => void order.push('reader'));
  await lab.clock.advance(10_000);
  await reading;
  assert.equal(typesOf(response).at(-1), 'response.completed', 'and no sign of life follows it (P49)');
  assert.equal(response.settlement?.outcome.status, 'completed');
  assert.equal(lab.engine.liveCount, 1, 'it holds its slot until all of it is over');
  clearing.resolve();
  await response.settled;
  await lab.settle();
  assert.deepEqual(order, ['reader', 'late']);
  assert.deepEqual([lab.engine.liveCount, lab.clock.pending], [0, 0]);
});

test('a fault off the critical path changes nothing that the client was told', async () => {
  const late = stage('late', () => Promise.reject(new Error('no')), {
    phases: ['post'],
    refuses: false,
    critical: false,
  });
  const lab = new Lab([turn(say('hi'))], { engine: { stages: (standard) => [...standard, late] } });
  const response = await lab.create();
  const { outcome } = await response.settled;
  assert.equal(outcome.status, 'completed');
  assert.equal(response.receipts.at(-1)?.result, 'failed');
});

test('a stage that has run out of time and then fails is no unhandled rejection', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const [first, second] = [deferred<void>(), deferred<void>()];
  const of = (name: string, run: Run): Stage => stage(name, run, { phases: ['post'] });
  const lab = new Lab([turn(say('hi'))], {
    engine: { stages: () => [], limits: { postMsMax: 10 } },
  });
  const full = new Lab([turn(say('hi'))], {
    engine: {
      limits: { postMsMax: 10 },
      stages: (standard) => [...standard, of('one', () => first.promise), of('two', () => second.promise)],
    },
  });
  await assert.rejects(lab.create(), /no pre stage resolved the model/);
  const response = await full.create();
  await full.clock.advance(10);
  await response.settled;
  first.reject(new Error('late'));
  second.reject(new Error('later'));
  await full.settle();
  assert.equal(unhandled.mock.callCount(), 0);
});

test('a stage that a rollout is let off does not run and leaves no receipt; the others run as they are bound (G4)', async () => {
  const seen: string[] = [];
  const look =
    (name: string): Run =>
    (_passage, items) =>
      void seen.push(`${name} ${items.length}`);
  const stages = new Stages(
    [
      stage('off', look('off')),
      stage('all', look('all')),
      stage('new', look('new'), { reads: 'all' }),
      stage('same', look('same')),
    ],
    new VirtualClock(),
  );
  const receipts = new Receipts(new Tallies());
  const obligations = { 'pre.off': 'absent', 'pre.all': 'full', 'pre.new': 'new-only' } as const;
  await stages.admit(passageOf('pre', { obligations }), receipts);
  assert.deepEqual(seen, ['all 2', 'new 1', 'same 1']);
  assert.deepEqual(results(receipts), ['pre.all passed', 'pre.new passed', 'pre.same passed']);
  await stages.admit(passageOf('append', { obligations }), receipts);
  assert.deepEqual(seen.slice(3), ['off 1', 'all 1', 'new 2', 'same 1']);
});

test('an overlapped post stage runs after the terminal event, an absent one never (G4)', async () => {
  const seen: string[] = [];
  const stages = new Stages(
    ['store', 'bill', 'audit'].map((name) =>
      stage(name, () => void seen.push(name), { phases: ['post'], refuses: false }),
    ),
    new VirtualClock(),
  );
  const obligations = { 'post.bill': 'overlapped', 'post.audit': 'absent' } as const;
  const passage = passageOf('post', { obligations });
  await stages.finish(passage, new Receipts(new Tallies()), true);
  assert.deepEqual(seen, ['store']);
  await stages.finish(passage, new Receipts(new Tallies()), false);
  assert.deepEqual(seen, ['store', 'bill']);
});

test('a create is refused where its obligations leave out what the rollout needs, or come too late to refuse (G4)', async () => {
  const lab = new Lab([turn(say('hi'))]);
  const create = (obligations: Record<string, 'absent' | 'overlapped'>) =>
    lab.engine.create({ model: 'm', input: 'x' }, { obligations });
  await assert.rejects(create({ 'pre.render': 'absent' }), RangeError);
  await assert.rejects(create({ 'append.validate': 'absent' }), /the stages after it need it/);
  await assert.rejects(create({ 'post.classify': 'overlapped' }), /has to be waited for/);
  assert.equal(lab.engine.liveCount, 0);
});
