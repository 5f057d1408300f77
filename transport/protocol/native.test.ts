import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, numbersOf, ofType, outline, ownerOf } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

overEveryWire('a rollout of two turns is one Response from created to completed (P49, B55)', async (wire) => {
  await using serving = await wire.serve([turn(say('let me look'), call('ls')), turn(say('done'))]);
  await using peer = await serving.connect();
  peer.send({ type: 'response.create', model: 'm', input: 'list it' });
  const first = await peer.through('response.done');
  const id = ofType(first, 'response.created')[0]?.response.id;
  assert.ok(id);
  const [callId] = callIds(first);
  const handOff = ofType(first, 'response.done')[0];
  assert.deepEqual(handOff?.required_input, [{ type: 'function_call_output', call_id: callId, name: 'ls' }]);
  assert.equal(handOff.turn, 1);
  assert.deepEqual(
    handOff.output,
    ofType(first, 'response.output_item.done').map(({ item }) => item),
  );
  peer.append(id, output(callId, 'bin etc'));
  const second = await peer.through(isTerminal);
  assert.equal(second[0]?.type, 'response.append.accepted');
  const events = [...first, ...second];
  checkStream(events);
  assert.deepEqual(outline(events), [
    'response.created',
    'response.in_progress',
    'response.done',
    'response.append.accepted',
    'response.completed',
  ]);
  for (const event of events) assert.equal(ownerOf(event), id);
  assert.deepEqual(serving.lab.prompt, [
    'user: list it',
    'assistant: let me look',
    'assistant to=ls: {}',
    'tool: bin etc',
  ]);
});

overEveryWire('what an append did is told by an event of the log, with what is still owed', async (wire) => {
  await using serving = await wire.serve([turn(call('a'), call('b')), turn(say('done'))]);
  await using peer = await serving.connect();
  const id = await peer.create();
  const { required_input: owed } = await peer.until('response.done');
  const [a, b] = owed;
  peer.append(id, output(b?.call_id, '2'), message('be brief'));
  const {
    type,
    turn: number,
    call_ids,
    messages,
    required_input,
  } = await peer.until('response.append.accepted');
  assert.deepEqual(
    { type, number, call_ids, messages, required_input },
    {
      type: 'response.append.accepted',
      number: 1,
      call_ids: [b?.call_id],
      messages: 1,
      required_input: [a],
    },
  );
  peer.append(id, output(a?.call_id, '1'));
  await peer.until('response.completed');
  assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: be brief']);
});

overEveryWire(
  'usage counts every token once: per turn at the hand-off, in total at the end',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
    await using peer = await serving.connect();
    const id = await peer.create();
    const { usage: first, required_input } = await peer.until('response.done');
    peer.append(id, output(required_input[0]?.call_id, 'bin'));
    const total = (await peer.until('response.completed')).response.usage;
    const [bill] = serving.lab.store.bills;
    assert.ok(total && bill);
    assert.equal(first.input_tokens_details.cached_tokens, 0);
    assert.ok(total.input_tokens > first.input_tokens);
    assert.equal(total.input_tokens, bill.uncached_input_tokens);
    assert.equal(total.output_tokens, bill.output_tokens);
    assert.equal(total.total_tokens, total.input_tokens + total.output_tokens);
  },
);

overEveryWire(
  'a cancel ends a suspended Response as incomplete, and a new create takes it up (B104)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls'), call('pwd')), turn(say('gone on'))]);
    await using peer = await serving.connect();
    const id = await peer.create();
    await peer.until('response.done');
    peer.cancel(id);
    const { response } = await peer.until('response.incomplete');
    assert.equal(response.status, 'cancelled');
    assert.deepEqual(response.incomplete_details, { reason: 'cancelled' });
    assert.deepEqual(
      response.output.map((item) => item['status']),
      ['incomplete', 'incomplete'],
      'a call that nobody answered is not shown as finished (B107)',
    );
    await serving.response(id).settled;
    assert.equal(serving.lab.engine.stageRuns['post.bill']?.runs, 1);
    const events = await peer.turn({ previous_response_id: id, input: 'go on' });
    assert.equal(events.at(-1)?.type, 'response.completed');
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: aborted', 'tool: aborted', 'user: go on']);
  },
);

overEveryWire(
  'a cancel in the middle of a text ends it there, and the next Response is told apart (B109)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('x'.repeat(400)))], { decodeTokensPerSecond: 10 });
    await using peer = await serving.connect();
    const first = await peer.create();
    await serving.lab.clock.advance(1000);
    await peer.until('response.output_text.delta');
    peer.cancel(first);
    const { response } = await peer.until('response.incomplete');
    assert.equal(response.output.at(-1)?.['status'], 'incomplete');
    const second = await peer.create();
    await serving.lab.clock.advance(60_000);
    const events = await peer.through('response.completed');
    assert.deepEqual(new Set(events.map(ownerOf)), new Set([second]));
    assert.equal(serving.lab.model.stats.aborted, 1);
  },
);

overEveryWire('after each of five ends the socket takes a new create at once (B102)', async (wire) => {
  const fault = new Error('the model broke');
  await using serving = await wire.serve(({ context }) => {
    const asked = context.transcript.at(context.transcript.length - 1).item;
    const said = 'content' in asked ? asked.content : '';
    if (said === 'cut') return turn(say('a long text that does not fit'));
    if (said === 'break') return { items: [say('half')], failAfterTokens: { tokens: 1, fault } };
    return said === 'call' ? turn(call('ls')) : turn(say('done'));
  });
  await using peer = await serving.connect();
  const endOf = async (fields: object): Promise<string> => {
    const events = await peer.turn(fields);
    return events.at(-1)?.type ?? '';
  };
  assert.equal(await endOf({ input: 'say' }), 'response.completed');
  assert.equal(await endOf({ input: 'cut', max_output_tokens: 2 }), 'response.incomplete');
  assert.equal(await endOf({ input: 'break' }), 'response.failed');
  const called = await peer.turn({ input: 'call' });
  const id = ofType(called, 'response.created')[0]?.response.id ?? '';
  peer.cancel(id);
  await peer.until('response.incomplete');
  assert.equal(await endOf({ model: 'unserved' }), 'error');
  assert.equal(await endOf({ input: 'say' }), 'response.completed');
  assert.equal(serving.lab.engine.liveCount, 0);
});

overEveryWire(
  'many Responses run on one socket, each with its own numbers, up to the limit',
  async (wire) => {
    await using serving = await wire.serve([turn(call('ls')), turn(say('done'))], {
      limits: { socketResponsesMax: 3 },
    });
    await using peer = await serving.connect();
    const ids = [await peer.create(), await peer.create(), await peer.create()];
    peer.send({ type: 'response.create', event_id: 'one too many', model: 'm', input: 'hi' });
    const refused = await peer.until('error');
    assert.deepEqual(
      [refused.event_id, refused.error.code, refused.status],
      ['one too many', 'rate_limit_exceeded', 429],
    );
    const [id = ''] = ids;
    peer.append(id, output(serving.response(id).requiredInput[0]?.call_id, 'x'));
    await peer.until('response.completed');
    ids.push(await peer.create());
    await peer.rest();
    for (const one of ids) {
      const own = peer.received.filter((event) => ownerOf(event) === one);
      assert.deepEqual(
        numbersOf(own),
        own.map((_, index) => index),
      );
    }
  },
);

overEveryWire(
  'a warm-up samples nothing, owes nothing and is answered by a message (P24, P25)',
  async (wire) => {
    await using serving = await wire.serve([turn(say('hello'))]);
    await using peer = await serving.connect();
    const events = await peer.turn({ generate: false, instructions: 'be brief' });
    const handOff = ofType(events, 'response.done')[0];
    assert.deepEqual([handOff?.turn, handOff?.output, handOff?.required_input], [0, [], []]);
    assert.equal(handOff?.usage.output_tokens, 0);
    assert.equal(serving.lab.model.stats.turns, 0);
    peer.append(handOff?.response_id ?? '', message('go'));
    await peer.until('response.completed');
    assert.deepEqual(serving.lab.prompt, ['system: be brief', 'user: hi', 'user: go']);
  },
);
