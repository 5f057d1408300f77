import assert from 'node:assert/strict';

import { call, customCall, customOutput, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, ofType } from '../testing/events.js';
import { isTerminal, type EventOf } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

const oneCall = [turn(call('ls')), turn(say('done'))];
const wanted = (failed: EventOf<'response.append.failed'>) => {
  const { code, param } = failed.error;
  return [code, param];
};

overEveryWire(
  'an output for a call id that nobody made is given back and nothing is applied (B1)',
  async (wire) => {
    await using serving = await wire.serve(oneCall);
    await using peer = await serving.connect();
    const id = await peer.create();
    const done = await peer.until('response.done');
    const input = [output('call_nope', 'x'), { ...message('hey'), x_unknown: [1, { deep: null }] }];
    peer.send({ type: 'response.append', event_id: 'e1', response_id: id, input });
    assert.deepEqual(await peer.next(), {
      type: 'response.append.failed',
      sequence_number: done.sequence_number,
      response_id: id,
      event_id: 'e1',
      input,
      error: {
        type: 'invalid_request_error',
        code: 'unknown_call_id',
        message: 'No tool call with call_id "call_nope" was made by this response.',
        param: 'input[0].call_id',
      },
    });
    assert.deepEqual(await peer.rest(), []);
    assert.equal(serving.response(id).suspended, true);
    assert.equal(serving.lab.model.stats.turns, 1);
    peer.append(id, output(done.required_input[0]?.call_id, 'ok'));
    await peer.until('response.completed');
    assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant to=ls: {}', 'tool: ok']);
  },
);

overEveryWire('the id of an item is no call id (B3)', async (wire) => {
  await using serving = await wire.serve(oneCall);
  await using peer = await serving.connect();
  const id = await peer.create();
  const { output: items } = await peer.until('response.done');
  peer.append(id, output(items[0]?.id, 'x'));
  assert.deepEqual(wanted(await peer.until('response.append.failed')), [
    'unknown_call_id',
    'input[0].call_id',
  ]);
  assert.equal(serving.response(id).suspended, true);
});

overEveryWire('a custom call is answered by its own kind of output alone (B4)', async (wire) => {
  await using serving = await wire.serve([turn(customCall('apply_patch', '*** Begin')), turn(say('done'))]);
  await using peer = await serving.connect();
  const id = await peer.create({ tools: [{ type: 'custom', name: 'apply_patch' }] });
  const { required_input } = await peer.until('response.done');
  const callId = required_input[0]?.call_id;
  assert.equal(required_input[0]?.type, 'custom_tool_call_output');
  peer.append(id, output(callId, 'x'));
  assert.deepEqual(wanted(await peer.until('response.append.failed')), [
    'wrong_output_type',
    'input[0].type',
  ]);
  peer.append(id, customOutput(callId, 'applied'));
  assert.equal((await peer.through(isTerminal)).at(-1)?.type, 'response.completed');
  assert.equal(serving.lab.model.stats.turns, 2);
});

overEveryWire(
  'the first answer stands, and a byte-identical resend gets its acknowledgement again (B5)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('a'), call('b')), turn(say('done'))]);
    await using peer = await serving.connect();
    const id = await peer.create();
    const [a, b] = callIds(await peer.through('response.done'));
    peer.append(id, output(a, 'first'));
    const accepted = await peer.until('response.append.accepted');
    peer.append(id, output(a, 'second'));
    const refused = await peer.until('response.append.failed');
    assert.deepEqual(
      [refused.error.code, refused.error.param],
      ['call_already_answered', 'input[0].call_id'],
    );
    peer.append(id, output(a, 'first'));
    assert.deepEqual(await peer.next(), accepted);
    peer.append(id, output(b, '1'), output(b, '2'));
    assert.deepEqual(wanted(await peer.until('response.append.failed')), [
      'call_already_answered',
      'input[1].call_id',
    ]);
    assert.equal(serving.response(id).suspended, true, 'of a refused append nothing is applied');
    peer.append(id, output(b, 'it'));
    await peer.until('response.completed');
    assert.deepEqual(serving.lab.prompt.slice(-2), ['tool: first', 'tool: it']);
    assert.equal(serving.lab.model.stats.turns, 2);
    peer.append(id, output(a, 'first'));
    assert.deepEqual(
      await peer.next(),
      accepted,
      'a lost acknowledgement can be asked for after the end too',
    );
    peer.append(id, output(a, 'third'));
    assert.deepEqual(wanted(await peer.until('response.append.failed')), [
      'response_already_completed',
      'response_id',
    ]);
  },
);

overEveryWire(
  'two identical appends in one segment are both answered, with the same event (B5)',
  async (wire) => {
    await using serving = await wire.serve(oneCall);
    await using peer = await serving.connect();
    const id = await peer.create();
    const [callId] = callIds(await peer.through('response.done'));
    const append = { type: 'response.append', response_id: id, input: [output(callId, 'x')] };
    peer.sendTogether(append, append);
    const events = await peer.through(isTerminal);
    const accepted = ofType([...events, ...(await peer.rest())], 'response.append.accepted');
    assert.equal(accepted.length, 2, 'each append is answered');
    assert.deepEqual(accepted[0], accepted[1]);
    assert.deepEqual(serving.lab.prompt.filter((block) => block === 'tool: x').length, 1);
  },
);

overEveryWire(
  'three parallel calls may be answered in any order and enter in call order (B11)',
  async (wire) => {
    await using serving = await wire.serve([turn(call('a'), call('b'), call('c')), turn(say('done'))]);
    await using peer = await serving.connect();
    const id = await peer.create();
    const [a, b, c] = callIds(await peer.through('response.done'));
    peer.append(id, output(b, '2'));
    assert.deepEqual(
      (await peer.until('response.append.accepted')).required_input.map(({ call_id }) => call_id),
      [a, c],
    );
    assert.deepEqual(await peer.rest(), []);
    assert.equal(serving.lab.model.stats.turns, 1);
    peer.append(id, output(c, '3'));
    peer.append(id, output(a, '1'));
    await peer.until('response.completed');
    assert.equal(serving.lab.model.stats.turns, 2);
    assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'tool: 3']);
  },
);

overEveryWire('a call may be answered while its arguments are still being written (B17)', async (wire) => {
  await using serving = await wire.serve(
    [turn(call('a', '{"path":"/somewhere/far/away"}')), turn(say('done'))],
    {
      decodeTokensPerSecond: 1,
    },
  );
  await using peer = await serving.connect();
  const id = await peer.create();
  await serving.lab.clock.advance(1000);
  const { item } = await peer.until('response.output_item.added');
  peer.append(id, output('call_id' in item ? String(item['call_id']) : '', 'early'));
  await peer.until('response.append.accepted');
  assert.equal(serving.response(id).suspended, false, 'the turn is still being sampled');
  await serving.lab.clock.advance(60_000);
  await peer.until('response.completed');
  checkStream(peer.received);
  assert.deepEqual(ofType(peer.received, 'response.done')[0]?.required_input, []);
  assert.equal(serving.lab.prompt.at(-1), 'tool: early');
});

overEveryWire('a message in the same segment as the last output is used, not lost (B19)', async (wire) => {
  await using serving = await wire.serve([turn(call('a')), turn(say('one')), turn(say('two'))], {
    firstTokenMs: 1000,
  });
  await using peer = await serving.connect();
  const id = await peer.create();
  await serving.lab.clock.advance(1000);
  const [a] = callIds(await peer.through('response.done'));
  peer.sendTogether(
    { type: 'response.append', response_id: id, input: [output(a, 'x')] },
    { type: 'response.append', response_id: id, input: [message('and tests')] },
  );
  const taken = [await peer.next(), await peer.next()];
  assert.deepEqual(
    ofType(taken, 'response.append.accepted').map(({ call_ids, messages }) => [call_ids, messages]),
    [
      [[a], 0],
      [[], 1],
    ],
  );
  await serving.lab.clock.advance(2000);
  await peer.until('response.completed');
  assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: x', 'assistant: one', 'user: and tests']);
});

overEveryWire('a message that comes too late for any turn is refused, not ignored (B19)', async (wire) => {
  await using serving = await wire.serve(oneCall);
  await using peer = await serving.connect();
  const id = await peer.create();
  const [a] = callIds(await peer.through('response.done'));
  peer.append(id, output(a, 'x'));
  await peer.until('response.completed');
  peer.append(id, message('and tests'));
  const failed = await peer.until('response.append.failed');
  assert.deepEqual(wanted(failed), ['response_already_completed', 'response_id']);
  assert.deepEqual(failed.input, [message('and tests')]);
});

overEveryWire('a message alone does not end the wait for a call (B130)', async (wire) => {
  await using serving = await wire.serve(oneCall);
  await using peer = await serving.connect();
  const id = await peer.create();
  const [a] = callIds(await peer.through('response.done'));
  peer.append(id, message('also add tests'));
  assert.deepEqual(
    (await peer.until('response.append.accepted')).required_input.map(({ call_id }) => call_id),
    [a],
  );
  assert.deepEqual(await peer.rest(), []);
  assert.equal(serving.response(id).suspended, true);
  peer.append(id, output(a, 'x'));
  await peer.until('response.completed');
  assert.deepEqual(serving.lab.prompt.slice(-2), ['tool: x', 'user: also add tests']);
});

overEveryWire('an append goes to the Response it names, not to the newest one (B21)', async (wire) => {
  await using serving = await wire.serve(({ context }) => {
    const first = context.transcript.at(0).item;
    const cats = 'content' in first && first.content === 'cats';
    return cats && context.transcript.turns === 0 ? turn(call('purr')) : turn(say('done'));
  });
  await using peer = await serving.connect();
  const cats = await peer.create({ input: 'cats' });
  const [a] = callIds(await peer.through('response.done'));
  await peer.turn({ input: 'tax' });
  peer.append(cats, output(a, 'purrs'));
  const { response } = await peer.until('response.completed');
  assert.equal(response.id, cats);
  assert.deepEqual(serving.lab.prompt, ['user: cats', 'assistant to=purr: {}', 'tool: purrs']);
});

overEveryWire(
  'an output over the limit is refused and a short one completes the Response (B83)',
  async (wire) => {
    await using serving = await wire.serve(oneCall, { limits: { outputBytesMax: 10_000 } });
    await using peer = await serving.connect();
    const id = await peer.create();
    const [a] = callIds(await peer.through('response.done'));
    const input = [output(a, 'x'.repeat(12_000))];
    peer.send({ type: 'response.append', response_id: id, input });
    const refused = await peer.until('response.append.failed');
    assert.deepEqual(wanted(refused), ['output_too_long', 'input[0].output']);
    assert.match(refused.error.message, /at most 10000/);
    assert.deepEqual(refused.input, input);
    assert.equal(serving.response(id).suspended, true);
    peer.append(id, output(a, 'x'.repeat(1000)));
    await peer.until('response.completed');
  },
);
