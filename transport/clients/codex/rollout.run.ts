/** The real Codex CLI does a task in each design and over each transport, undisturbed and with its connection cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Checkpoint } from './checkpoint.js';
import { Gate } from './gate.js';
import type { Held } from './model.js';
import { CodexLab, designNamed, type Transport } from './serve-lab.js';
import { assertDone, checkInstalled, edit, readBack } from './tasks.js';

interface Arm {
  readonly design: string;
  readonly transport: Transport;
}

const arms: readonly Arm[] = [
  { design: 'chain', transport: 'socket' },
  { design: 'shim', transport: 'socket' },
  { design: 'shim', transport: 'http' },
];

await checkInstalled();

/** Everything came over the transport that was asked for, and nothing was refused. */
function assertTransport(lab: CodexLab, { transport }: Arm, connections: number): void {
  const { upgrades, posts, creates } = lab.relay;
  const sockets = Array.from({ length: connections }, () => 101);
  assert.deepEqual(upgrades, transport === 'socket' ? sockets : []);
  assert.deepEqual(posts, transport === 'socket' ? [] : creates.map(() => 200));
  assert.deepEqual(lab.relay.errors, []);
}

/** The receipts of `n` creates that went through, as the design promises them, and a bill for each `post`. */
function assertReceipts(lab: CodexLab, arm: Arm, appends: boolean): void {
  const n = lab.creates.length;
  const { pre, append, post } = designNamed(arm.design).passages;
  const runs = { pre: pre === '1' ? 1 : n, append: append === '0' ? 0 : n - 1, post: post === '1' ? 1 : n };
  for (const [stage, count] of Object.entries(lab.stageRuns)) {
    if (stage.startsWith('pre.')) assert.equal(count, runs.pre, stage);
    if (stage.startsWith('append.') && appends) assert.equal(count, runs.append, stage);
    if (stage.startsWith('post.')) assert.equal(count, runs.post, stage);
  }
  assert.equal(lab.billed.length, runs.post);
}

/** Resolves when Codex has come back and asked again. */
async function cutUntilBack(lab: CodexLab): Promise<void> {
  const before = lab.creates.length;
  await lab.relay.cut();
  await lab.relay.until(() => lab.creates.length > before);
}

for (const arm of arms) {
  const { design, transport } = arm;
  const named = `${design} over ${transport === 'socket' ? 'a socket' : 'HTTP'}`;

  test(`${named}: a task of four calls, two of them parallel, is done and billed as the design says`, async () => {
    await using lab = await CodexLab.start({
      ...arm,
      steps: [edit, { commands: ['git status --short'] }, readBack],
    });
    const run = await lab.run();
    assertDone(lab, run);
    assertTransport(lab, arm, 1);
    assertReceipts(lab, arm, true);
    // Over a socket the first create warms up, and the last brings both outputs of the pair.
    const sockets = transport === 'socket';
    const seen = lab.creates;
    assert.deepEqual(
      seen.map(({ warmUp }) => warmUp),
      [...(sockets ? [true] : []), false, false, false, false],
    );
    assert.deepEqual(
      seen.map(({ outputs }) => outputs),
      sockets ? [0, 0, 1, 1, 2] : [0, 1, 2, 4],
    );
    assert.deepEqual(
      seen.map(({ chained }) => chained),
      seen.map((_, index) => sockets && index > 0),
    );
    assert.ok(lab.billed.every((status) => status === 'completed'));
  });

  test(`${named}: a connection cut in the middle of a call is made up for`, async () => {
    const at = new Checkpoint();
    await using lab = await CodexLab.start({
      ...arm,
      steps: [edit, { ...readBack, held: { after: 'item', at } }],
    });
    const run = await lab.run(async () => {
      // The edit was announced first.
      await lab.relay.until(() => lab.relay.events('response.output_item.added').length === 2);
      await cutUntilBack(lab);
      at.open();
    });
    assertDone(lab, run);
    assertTransport(lab, arm, 2);
    assertReceipts(lab, arm, false);
  });

  test(`${named}: a call that was run when the connection was cut in the middle of its turn is run once`, async () => {
    const at = new Checkpoint();
    await using gate = await Gate.make();
    const step = { commands: [`echo once >> runs.txt && ${gate.command} && cat runs.txt`, 'cat notes.txt'] };
    await using lab = await CodexLab.start({
      ...arm,
      steps: [edit, { ...step, held: { after: 'item_end', at } }],
    });
    const run = await lab.run(async () => {
      await gate.reached;
      // Codex waits for its tool before it comes back.
      gate.open();
      await cutUntilBack(lab);
      at.open();
    });
    // A design that forgets the cut turn goes on from what Codex knows of it: one call of two.
    const remembers = designNamed(arm.design).passages.pre === '1';
    assertDone(lab, run, remembers ? 'once\none\ntwo' : 'once');
    assert.equal(lab.read('runs.txt'), 'once\n');
    assertTransport(lab, arm, 2);
    assertReceipts(lab, arm, false);
  });

  for (const [what, steps, announced] of [
    ['turn', (held: Held) => [edit, { ...readBack, held }], 2],
    ['rollout', (held: Held) => [edit, readBack, { commands: [], held }], 4],
  ] as const)
    test(`${named}: a ${what} that could end while Codex was cut off is not lost on it`, async () => {
      const at = new Checkpoint();
      await using lab = await CodexLab.start({ ...arm, steps: steps({ after: 'item', at }) });
      const run = await lab.run(async () => {
        await lab.relay.until(() => lab.relay.events('response.output_item.added').length === announced);
        lab.relay.shut();
        await lab.relay.cut();
        const idle = lab.idle();
        at.open();
        await idle;
        lab.relay.open();
      });
      assertDone(lab, run);
      assertTransport(lab, arm, 2);
      assertReceipts(lab, arm, false);
    });

  // Over HTTP a connection says nothing of its client, so there the same history asks for a second sample.
  if (transport === 'socket')
    for (const [what, steps, announced] of [
      ['turn', (held: Held) => [edit, { ...readBack, held }], 2],
      ['rollout', (held: Held) => [edit, readBack, { commands: [], held }], 4],
    ] as const)
      test(`${named}: the end of a ${what} that the network lost on its way to Codex is shown to it again`, async () => {
        const at = new Checkpoint();
        await using lab = await CodexLab.start({ ...arm, steps: steps({ after: 'item', at }) });
        const ends = (): number => lab.relay.events('response.completed').length;
        const run = await lab.run(async () => {
          await lab.relay.until(() => lab.relay.events('response.output_item.added').length === announced);
          const before = ends();
          lab.relay.mute();
          at.open();
          await lab.relay.until(() => ends() > before);
          await lab.relay.cut();
        });
        assertDone(lab, run);
        assertTransport(lab, arm, 2);
        assertReceipts(lab, arm, false);
      });

  test(`${named}: a connection cut while a tool runs is made up for`, async () => {
    await using gate = await Gate.make();
    await using lab = await CodexLab.start({
      ...arm,
      steps: [edit, { commands: [gate.command] }, readBack],
      retriesMax: 0,
    });
    const run = await lab.run(async () => {
      await gate.reached;
      await lab.relay.cut();
      gate.open();
    });
    assertDone(lab, run);
    assertTransport(lab, arm, 2);
    assertReceipts(lab, arm, true);
    assert.ok(lab.billed.every((status) => status === 'completed'));
  });
}
