import { test } from 'node:test';
import assert from 'node:assert/strict';

import { Engine, scriptedSampler, VirtualClock, type Obligations, type Receipt } from '../../engine/index.js';
import { countedText, countedTokenizer } from '../virtual/counted.js';
import { Workers } from './backend.js';
import { appendWork, createWork, endWork, obligationsOf, requestWork, type Bound } from './obligations.js';
import { builtinProfiles, type Profile } from './profile.js';
import { Service, type Work } from './stage.js';

const hosted = profile('hosted');

function profile(name: string): Profile {
  return builtinProfiles.get(name) ?? assert.fail(`no profile ${name}`);
}

/** A service around a model that answers after one call, all of it instant but what the profile costs. */
function serviceWith(costs: Partial<Profile> = {}) {
  const clock = new VirtualClock();
  const works: Work[] = [];
  const service = new Service({
    profile: { ...hosted, ...costs },
    clock,
    backend: new Workers(clock, 1),
    seed: 1,
    onWork: (work) => void works.push(work),
  });
  const script = [
    { items: [{ type: 'function_call' as const, name: 'tool', arguments: '{}' }] },
    { items: [{ type: 'message' as const, text: 'done' }] },
  ];
  const engine = new Engine({
    clock,
    tokenizer: countedTokenizer,
    stages: service.stages,
    sampler: scriptedSampler({ clock, script }),
    rules: [],
  });
  return { clock, engine, works };
}

const request = { model: 'm', input: countedText(1000), metadata: { scenario: 's', rollout: '0' } };

async function admitted(
  { clock, engine }: ReturnType<typeof serviceWith>,
  obligations: Obligations,
  handOff: 'suspend' | 'complete' = 'suspend',
) {
  const before = clock.now();
  const response = await clock.runUntil(engine.create(request, { obligations, handOff }));
  return { response, ms: clock.now() - before };
}

const bound = (pre: Bound, append: Bound = {}, post: Bound = {}): Obligations =>
  obligationsOf({ pre, append, post });
const fixed = (work: Bound): Bound => ({ ...work, safety: 'absent', render: 'absent' });

test('hosted: a request has 60 ms of fixed work, a create on a warm socket 20, an append 2, the end 15', async () => {
  assert.equal((await admitted(serviceWith(), bound(fixed(requestWork)))).ms, 60);
  assert.equal((await admitted(serviceWith(), bound(fixed(createWork)))).ms, 20);
  const lab = serviceWith();
  const { response } = await admitted(lab, bound({}, fixed(appendWork), endWork));
  const [owed] = response.requiredInput;
  const appendedAt = lab.clock.now();
  await lab.clock.runUntil(
    response.append([{ type: 'function_call_output', call_id: owed?.call_id ?? '', output: 'x' }]),
  );
  assert.equal(lab.clock.now() - appendedAt, 2);
  const paidAt = lab.clock.now();
  await lab.clock.runUntil(response.settled);
  assert.equal(lab.clock.now() - paidAt, 15);
});

test('extrapolated: a request has 270 ms of fixed work, a create 80, an append nothing or as much as a create', async () => {
  for (const [name, appendMs] of [
    ['extrapolated-low', 0],
    ['extrapolated-high', 80],
  ] as const) {
    const costs = profile(name);
    assert.equal((await admitted(serviceWith(costs), bound(fixed(requestWork)))).ms, 270);
    assert.equal((await admitted(serviceWith(costs), bound(fixed(createWork)))).ms, 80);
    assert.equal((await admitted(serviceWith(costs), bound(fixed({ rate_limit: 'cached' })))).ms, appendMs);
  }
});

test('work that is bound to what is new reads new tokens, full work everything, a share of history only at a create', async () => {
  const lab = serviceWith({ history_share: 0.5 });
  const { response } = await admitted(
    lab,
    bound({ safety: 'new-only' }, { safety: 'new-only', render: 'full' }),
  );
  const [owed] = response.requiredInput;
  await lab.clock.runUntil(
    response.append([
      { type: 'function_call_output', call_id: owed?.call_id ?? '', output: countedText(500) },
    ]),
  );
  const tokens = lab.works.map(({ phase, module, tokens: read }) => [`${phase} ${module}`, read]);
  const [create = [], render = [], safety = []] = tokens;
  assert.equal(create[0], 'pre safety');
  const sent = Number(create[1]);
  assert.ok(sent >= 1000 && sent < 1020, `the create reads its message, ${sent} tokens`);
  assert.deepEqual([render[0], safety[0]], ['append render', 'append safety']);
  const appended = Number(safety[1]);
  assert.ok(appended >= 500 && appended < 520, `the append reads its output, ${appended} tokens`);
  assert.ok(Number(render[1]) > appended + sent, 'full work reads the history too');
});

test('a client that brings its whole history brings as new what follows the last item of a model', async () => {
  const lab = serviceWith();
  const input = [
    { type: 'message', role: 'user', content: countedText(1000) },
    { type: 'function_call', call_id: 'call_1', name: 'tool', arguments: countedText(100) },
    { type: 'function_call_output', call_id: 'call_1', output: countedText(500) },
  ];
  await lab.clock.runUntil(
    lab.engine.create({ ...request, input }, { obligations: bound({ safety: 'new-only', render: 'full' }) }),
  );
  const read = new Map(lab.works.map((work) => [work.module, work.tokens]));
  const fresh = read.get('safety') ?? 0;
  assert.ok(fresh >= 500 && fresh < 520, `${fresh} tokens are new`);
  assert.ok((read.get('render') ?? 0) > 1600);
});

test('what is done ahead hides in the time since the response before it handed off, and no longer', async () => {
  const ahead: Bound = { rate_limit: 'ahead', hop: 'ahead' }; // 8 and 14 ms
  for (const [pauseMs, left] of [
    [0, 22],
    [10, 12],
    [50, 0],
  ] as const) {
    const lab = serviceWith();
    const { response } = await admitted(lab, bound(ahead), 'complete');
    assert.equal(lab.clock.now(), 22, 'nothing came before the first');
    await lab.clock.runUntil(response.settled);
    await lab.clock.advance(pauseMs);
    const from = lab.clock.now();
    const [call] = response.kept.owed;
    const next = lab.engine.create(
      { ...request, input: [{ type: 'function_call_output', call_id: call ?? '', output: 'x' }] },
      { kept: response.kept, obligations: bound(ahead) },
    );
    await lab.clock.runUntil(next);
    assert.equal(lab.clock.now() - from, left);
  }
});

test('CPU queues for a finite number of workers, waits do not', async () => {
  const cost = { wait_ms: 5, cpu_ms: 10, us_per_token: 0 };
  const lab = serviceWith({ modules: { auth: { full: cost } } });
  const obligations = bound({ auth: 'full' });
  const ends: number[] = [];
  const creates = [1, 2, 3].map(async () => {
    await lab.engine.create(request, { obligations });
    ends.push(lab.clock.now());
  });
  await lab.clock.runUntil(Promise.all(creates));
  assert.deepEqual(ends, [15, 25, 35]);
});

test('a drawn cost is the same for the same rollout, turn and piece of work, whatever else is bound', async () => {
  const cost = { wait_ms: { p: [0, 100], v: [0, 1000] }, cpu_ms: 0, us_per_token: 0 };
  const drawn = async (work: Bound, rollout: string): Promise<number> => {
    const lab = serviceWith({ modules: { auth: { full: cost }, hop: { full: cost } } });
    await lab.clock.runUntil(
      lab.engine.create({ ...request, metadata: { scenario: 's', rollout } }, { obligations: bound(work) }),
    );
    return lab.works.find(({ module }) => module === 'hop')?.waited_ms ?? NaN;
  };
  const alone = await drawn({ hop: 'full' }, '0');
  assert.equal(await drawn({ auth: 'full', hop: 'full' }, '0'), alone);
  assert.notEqual(await drawn({ hop: 'full' }, '1'), alone);
});

test('overlapped work holds nobody up, and is counted', async () => {
  const lab = serviceWith();
  const { response } = await admitted(lab, bound({}, {}, { billing: 'overlapped' }), 'complete');
  const terminalAt = new Promise<number>((resolve) => {
    const look = (): void => {
      if (response.settlement === null) response.whenBeyond(response.lastNumber + 1, look);
      else resolve(lab.clock.now());
    };
    look();
  });
  assert.equal(await lab.clock.runUntil(terminalAt), 0);
  await lab.clock.runUntil(response.settled);
  assert.equal(lab.clock.now(), 10);
  assert.deepEqual(
    lab.works.map(({ module }) => module),
    ['billing'],
  );
});

test('without costs nothing is added to the stages, so that bare is the engine itself', async () => {
  const lab = serviceWith(profile('bare'));
  const { response } = await admitted(lab, bound(requestWork));
  const stages = response.receipts.map(({ stage }: Receipt) => stage);
  assert.deepEqual(stages, ['validate', 'admit', 'resolve', 'classify', 'render']);
});
