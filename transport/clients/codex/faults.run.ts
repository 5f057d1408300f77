/** What the real Codex CLI does when the server refuses it, forgets it or sends it away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serverEventSchema } from '../../../engine/index.js';
import { Client } from '../../client.js';
import { AgingClock } from './aging-clock.js';
import { Checkpoint } from './checkpoint.js';
import { Gate } from './gate.js';
import { CodexLab, designNamed } from './serve-lab.js';
import { assertDone, checkInstalled, edit, readBack } from './tasks.js';

await checkInstalled();

/** Codex came with its whole history on its own socket, without a warm-up, and chained again from there. */
function assertFreshSocket(lab: CodexLab): void {
  const { connection } = lab.creates.at(-1) ?? assert.fail('nothing was created');
  const [first, ...rest] = lab.creates.filter((create) => create.connection === connection);
  assert.deepEqual([first?.warmUp, first?.chained], [false, false]);
  assert.ok(rest.every(({ chained }) => chained));
}

/** Every upgrade ended as told, and Codex never went over to HTTP. */
function assertSockets(lab: CodexLab, upgrades: readonly number[]): void {
  assert.deepEqual(lab.relay.upgrades, upgrades);
  assert.deepEqual(lab.relay.posts, []);
}

/** How each response ended, in a design that bills each for itself; else the one rollout was completed. */
function assertBilled(lab: CodexLab, design: string, perResponse: readonly string[]): void {
  const perRollout = designNamed(design).passages.post === '1';
  assert.deepEqual(lab.billed, perRollout ? ['completed'] : perResponse);
}

for (const design of ['chain', 'shim']) {
  test(`${design}: a server that forgets every response is sent the whole history at every turn`, async () => {
    await using lab = await CodexLab.start({
      design,
      steps: [edit, readBack],
      limits: { keptResponsesMax: 0 },
    });
    const run = await lab.run();
    assertDone(lab, run);
    // Once for the warm-up and once for each hand-off.
    const forgotten = Array.from({ length: 3 }, () => 'previous_response_not_found');
    assertSockets(lab, [101, 101, 101, 101]);
    assert.deepEqual(lab.relay.errors, forgotten);
    assertFreshSocket(lab);
    assertBilled(lab, design, ['completed', 'completed', 'completed', 'completed']);
  });

  test(`${design}: a socket that reaches its age limit while a tool runs is replaced by another`, async () => {
    const clock = new AgingClock();
    await using gate = await Gate.make();
    const steps = [edit, { commands: [gate.command] }, readBack];
    await using lab = await CodexLab.start({ design, steps, clock, limits: clock.limits, retriesMax: 0 });
    const run = await lab.run(async () => {
      await gate.reached;
      clock.age();
      await lab.relay.until(() => lab.relay.errors.length > 0);
      gate.open();
    });
    assertDone(lab, run);
    assertSockets(lab, [101, 101]);
    assert.deepEqual(lab.relay.errors, ['websocket_connection_limit_reached']);
    assertFreshSocket(lab);
    assertBilled(lab, design, ['completed', 'completed', 'completed', 'completed', 'completed']);
  });

  test(`${design}: a turn in which its socket reaches its age limit goes on on another`, async () => {
    const clock = new AgingClock();
    const at = new Checkpoint();
    const steps = [edit, { ...readBack, held: { after: 'item', at } as const }];
    await using lab = await CodexLab.start({ design, steps, clock, limits: clock.limits });
    const run = await lab.run(async () => {
      await at.reached;
      clock.age();
      await lab.relay.until(() => lab.creates.at(-1)?.connection === 2);
      at.open();
    });
    assertDone(lab, run);
    assertSockets(lab, [101, 101]);
    assert.deepEqual(lab.relay.errors, ['websocket_connection_limit_reached']);
    assertFreshSocket(lab);
    assertBilled(lab, design, ['completed', 'completed', 'cancelled', 'completed', 'completed']);
  });

  test(`${design}: an upgrade refused with retry-after is tried again, and the missed warm-up is not`, async () => {
    await using lab = await CodexLab.start({ design, steps: [edit, readBack], limits: { socketsMax: 1 } });
    await using occupant = await Client.connect({ url: lab.serving.url, design });
    const run = await lab.run(async () => {
      await lab.relay.until(() => lab.relay.upgrades.length > 0);
      await occupant[Symbol.asyncDispose]();
    });
    assertDone(lab, run);
    assertSockets(lab, [429, 101]);
    assertFreshSocket(lab);
    assertBilled(lab, design, ['completed', 'completed', 'completed']);
  });

  test(`${design}: a warm-up is a response without output, and the task continues from it`, async () => {
    await using lab = await CodexLab.start({ design, steps: [edit, readBack] });
    const run = await lab.run();
    assertDone(lab, run);
    assertSockets(lab, [101]);
    const [warmUp, task] = lab.relay.creates;
    assert.equal(warmUp?.event['generate'], false);
    const completed = serverEventSchema.parse(lab.relay.events('response.completed')[0]);
    assert.ok(completed.type === 'response.completed');
    const { response } = completed;
    assert.equal(task?.event['previous_response_id'], response.id);
    assert.deepEqual([response.output, response.usage?.total_tokens], [[], 0]);
    assertBilled(lab, design, ['completed', 'completed', 'completed', 'completed']);
  });

  test(`${design}: a warm-up that is refused is given up, and the task begins on a fresh socket`, async () => {
    await using lab = await CodexLab.start({
      design,
      steps: [edit, readBack],
      limits: { liveResponsesMax: 1 },
    });
    await using occupant = await lab.serving.engine.create({ model: 'lab-model', generate: false });
    const run = await lab.run(async () => {
      await lab.relay.until(() => lab.relay.errors.length > 0);
      await occupant[Symbol.asyncDispose]();
    });
    assertDone(lab, run);
    assertSockets(lab, [101, 101]);
    assert.deepEqual(lab.relay.errors, ['rate_limit_exceeded']);
    assertFreshSocket(lab);
  });
}

test('chain: a create refused with retry-after in its frame is sent again after that time', async () => {
  await using gate = await Gate.make();
  const steps = [edit, { commands: [gate.command] }, readBack];
  await using lab = await CodexLab.start({ design: 'chain', steps, limits: { liveResponsesMax: 1 } });
  const run = await lab.run(async () => {
    await gate.reached;
    await using _occupant = await lab.serving.engine.create({ model: 'lab-model', generate: false });
    gate.open();
    await lab.relay.until(() => lab.relay.errors.length > 0);
  });
  assertDone(lab, run);
  assertSockets(lab, [101, 101]);
  assert.deepEqual(lab.relay.errors, ['rate_limit_exceeded']);
  assertFreshSocket(lab);
});

test('shim: a server without sockets answers an upgrade with 426, and Codex goes over to HTTP at once', async () => {
  await using lab = await CodexLab.start({
    design: 'shim',
    steps: [edit, readBack],
    sockets: false,
    retriesMax: 0,
  });
  const run = await lab.run();
  assertDone(lab, run);
  assert.deepEqual(lab.relay.upgrades, [426]);
  assert.deepEqual(lab.relay.posts, [200, 200, 200]);
  assert.ok(lab.creates.every(({ warmUp, chained }) => !warmUp && !chained));
  assertBilled(lab, 'shim', []);
});
