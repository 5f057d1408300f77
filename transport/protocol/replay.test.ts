import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { overEveryWire, type Wire } from '../testing/wire.js';

const script = [turn(say('let me look'), call('a'), call('b')), turn(call('c')), turn(say('done'))];

/** What the model reads at each turn of the same rollout. */
async function prompts(wire: Wire, design: string) {
  await using serving = await wire.serve(script);
  await using peer = await serving.connect({ design });
  let history: object[] = [message('hi')];
  let input: object[] = history;
  let parent: string | undefined;
  for (;;) {
    const events = await peer.turn({
      input: design === 'chain' ? input : history,
      instructions: 'be brief',
      ...(design === 'chain' && parent !== undefined ? { previous_response_id: parent } : {}),
    });
    checkStream(events);
    const { response } = ofType(events, 'response.completed')[0] ?? {};
    assert.ok(response);
    parent = response.id;
    input = callIds(events).map((callId) => output(callId, `answer of ${callId}`));
    history = [...history, ...response.output, ...input];
    if (input.length === 0) break;
  }
  return {
    seen: serving.lab.turns.map(({ prompt, context }) => ({ prompt, tokens: context.tokens })),
    stageRuns: serving.lab.engine.stageRuns,
  };
}

overEveryWire(
  'the whole history each turn gives the model what the chain gives it, token by token',
  async (wire) => {
    const chain = await prompts(wire, 'chain');
    const replay = await prompts(wire, 'replay');
    const cached = await prompts(wire, 'replay-cached');
    assert.equal(chain.seen.length, 3);
    assert.deepEqual(replay.seen, chain.seen);
    assert.deepEqual(cached.seen, chain.seen);
    const rendered = (of: typeof chain) => of.stageRuns['pre.render']?.tokens;
    const contexts = replay.seen.reduce((sum, { tokens }) => sum + tokens, 0);
    assert.equal(rendered(replay), contexts, 'and renders all of it again');
  },
);

for (const design of ['replay', 'replay-cached']) {
  overEveryWire(`previous_response_id leads nowhere in ${design}, known or not`, async (wire) => {
    await using serving = await wire.serve([turn(say('done'))]);
    await using peer = await serving.connect({ design });
    const id = ofType(await peer.turn(), 'response.created')[0]?.response.id ?? '';
    for (const previous_response_id of [id, 'resp_gone']) {
      const [error] = ofType(await peer.turn({ previous_response_id }), 'error');
      assert.deepEqual(
        [error?.error.code, error?.error.param],
        ['previous_response_not_found', 'previous_response_id'],
      );
    }
    const fine = await peer.turn({ previous_response_id: null });
    assert.equal(fine.at(-1)?.type, 'response.completed');
  });

  overEveryWire(
    `creates take turns in ${design}, and the running one ends with its socket (P20, P48)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('x'.repeat(40)))], { decodeTokensPerSecond: 10 });
      const peer = await serving.connect({ design });
      peer.sendTogether(...[1, 2].map(() => ({ type: 'response.create', model: 'm', input: 'hi' })));
      await serving.lab.clock.advance(1000);
      checkStream(await peer.through(isTerminal));
      const id = (await peer.until('response.created')).response.id;
      peer.drop();
      await serving.closings.next();
      const { outcome } = await serving.response(id).settled;
      assert.deepEqual(outcome, { status: 'cancelled', reason: 'disconnected' });
    },
  );
}
