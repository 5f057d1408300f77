import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { anonymous, callIds, checkStream, numbersOf, ofType } from '../testing/events.js';
import type { Told } from '../testing/http-peer.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const script = [turn(call('read'), call('grep')), turn(call('ls')), turn(say('done'))];
const append = { design: 'append' };

function refusalOf(told: Told): unknown[] {
  const { code, param } = told.error;
  return [told.status, code, param];
}

function passages({ lab }: Serving): unknown[] {
  return ['pre.validate', 'append.validate', 'post.store', 'post.bill'].map(
    (stage) => lab.engine.stageRuns[stage]?.runs ?? 0,
  );
}

overEveryWire(
  'a whole rollout is one stream and a request for each append; its work is done once (B10, B11, B115)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http(append);
    const events = await http.stream();
    const first = await events.until('response.done');
    const id = first.response_id;
    const [a, b] = callIds(events.taken);
    const half = await http.append(id, output(b, 'two'));
    const accepted = await events.until('response.append.accepted');
    assert.deepEqual([half.status, half.body], [200, accepted], 'the answer is the event');
    assert.deepEqual(
      accepted.required_input.map(({ call_id }) => call_id),
      [a],
    );
    assert.equal(serving.lab.turns.length, 1);
    await http.append(id, output(a, 'one'), message('and be quick'));
    const second = await events.until('response.done');
    await http.append(id, output(second.required_input[0]?.call_id, 'three'));
    const rest = await events.rest();
    assert.equal(rest.at(-1)?.type, 'response.completed');
    assert.equal(events.done, true);
    checkStream(events.taken);
    assert.deepEqual(serving.lab.prompt.slice(3), [
      'tool: one',
      'tool: two',
      'user: and be quick',
      'assistant to=ls: {}',
      'tool: three',
    ]);
    assert.deepEqual(passages(serving), [1, 3, 1, 1]);
    for (const event of events.taken.slice(1))
      if (!('response' in event)) assert.equal('response_id' in event && event.response_id, id);
  },
);

overEveryWire(
  'a create that asks for no stream is refused, because its answer would never come',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http(append);
    for (const stream of [undefined, false, null, 'true'])
      assert.deepEqual(refusalOf(await http.create({ stream })), [400, 'invalid_value', 'stream']);
    assert.equal(serving.lab.engine.liveCount, 0);
  },
);

overEveryWire(
  'a wrong append is refused whole, a resend is answered again, during the rollout and after it (B1, B3, B5, B17, B130)',
  async (wire) => {
    await using serving = await wire.serve(script, { decodeTokensPerSecond: 1, deltaTokensMax: 1 });
    const http = serving.http(append);
    const events = await http.stream();
    const { item } = await events.until('response.output_item.added');
    const id = ofType(events.taken, 'response.created')[0]?.response.id ?? '';
    const a = String('call_id' in item ? item['call_id'] : '');
    const early = await http.append(id, output(a, 'early'));
    assert.equal(early.status, 200, 'an answer that comes while the model still writes the call');
    await serving.lab.clock.advance(60_000);
    const done = await events.until('response.done');
    const b = done.required_input[0]?.call_id;
    const body = (input: unknown, more = {}) => ({ input, ...more });
    for (const [asked, status, code, param] of [
      [body([output('call_x', 'x')]), 400, 'unknown_call_id', 'input[0].call_id'],
      [body([output(item.id, 'x')]), 400, 'unknown_call_id', 'input[0].call_id'],
      [body([output(b, 'x'), output('call_x', 'x')]), 400, 'unknown_call_id', 'input[1].call_id'],
      [body([output(b, 'x'), output(b, 'y')]), 409, 'call_already_answered', 'input[1].call_id'],
      [body([output(a, 'other')]), 409, 'call_already_answered', 'input[0].call_id'],
      [
        body([{ ...output(b, 'x'), type: 'custom_tool_call_output' }]),
        400,
        'wrong_output_type',
        'input[0].type',
      ],
      [body([output(b, 42)]), 400, 'invalid_value', 'input[0].output'],
      [body([output(b, 'x')], { stream_id: 's' }), 400, 'unknown_parameter', 'stream_id'],
      [body([output(b, 'x')], { response_id: id }), 400, 'unknown_parameter', 'response_id'],
      [body([output(b, 'x')], { event_id: '' }), 400, 'invalid_value', 'event_id'],
      [body('x'.repeat(3), { type: 'response.append' }), 400, 'unknown_parameter', 'type'],
      [body([{ role: 'assistant', content: 'x' }]), 400, 'invalid_value', 'input[0].role'],
      [body({}), 400, 'invalid_value', 'input'],
    ] as const) {
      const told = await http.ask('POST', `/v1/responses/${id}/append`, asked);
      const said = refusalOf(told);
      assert.deepEqual(said.slice(0, 2), [status, code], JSON.stringify(asked));
      assert.ok(String(said[2]).startsWith(param.split('.')[0] ?? ''), `${String(said[2])} for ${param}`);
    }
    assert.deepEqual((await http.append(id, output(a, 'early'))).body, early.body, 'a resend');
    assert.equal(serving.response(id).suspended, true);
    await http.append(id, message('a message releases nothing (B130)'));
    assert.equal(serving.response(id).suspended, true);
    const paid = await http.append(id, output(b, 'x'));
    await serving.lab.clock.advance(60_000);
    const again = await events.until('response.done');
    assert.deepEqual((await http.append(id, output(b, 'x'))).body, paid.body);
    await http.append(id, output(again.required_input[0]?.call_id, 'x'));
    await serving.lab.clock.advance(60_000);
    await events.rest();
    checkStream(events.taken);
    assert.deepEqual((await http.append(id, output(b, 'x'))).body, paid.body, 'after the end too');
    const late = await http.append(id, message('more'));
    assert.deepEqual(refusalOf(late), [409, 'response_already_completed', 'response_id']);
  },
);

overEveryWire(
  'a stream that broke is taken up by number, and misses and repeats nothing (B23, B29)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http(append);
    const broken = await http.stream();
    const { response_id: id, required_input } = await broken.until('response.done');
    broken.stream.drop();
    const place = 4;
    const again = await http.follow(id, place);
    await http.append(id, ...required_input.map(({ call_id }) => output(call_id, 'x')));
    const seconds = await again.through((event) => event.type === 'response.done' && event.turn === 2);
    await http.append(id, output(callIds(seconds).at(-1), 'x'));
    await again.rest();
    assert.deepEqual(
      numbersOf(again.taken),
      again.taken.map((_, index) => index + place + 1),
    );
    checkStream([...broken.taken.slice(0, place + 1), ...again.taken]);
    const whole = await (await http.follow(id)).rest();
    checkStream(whole);
    assert.deepEqual(whole.slice(place + 1), again.taken);
    const newest = whole.at(-1)?.sequence_number ?? 0;
    assert.deepEqual(await (await http.follow(id, newest)).rest(), []);
    const beyond = await http.ask('GET', `/v1/responses/${id}?stream=true&starting_after=${newest + 1}`);
    assert.deepEqual(refusalOf(beyond), [400, 'invalid_value', 'starting_after']);
  },
);

overEveryWire(
  'whoever asks for no append design reads the rollout as one standard response, with no private event',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http(append);
    const events = await http.stream();
    const { response_id: id, required_input } = await events.until('response.done');
    const standard = await Promise.all(
      ['chain', 'shim', null].map(async (design) => serving.http({ design }).follow(id)),
    );
    await http.append(id, ...required_input.map(({ call_id }) => output(call_id, 'x')));
    const second = await events.until('response.done');
    await http.append(id, output(second.required_input[0]?.call_id, 'x'));
    await events.rest();
    const [last] = ofType(events.taken, 'response.completed');
    for (const reader of standard) {
      const read = await reader.rest();
      checkStream(read);
      for (const { type } of read) assert.doesNotMatch(type, /response\.(done|append|attached)/);
      for (const event of read) assert.ok(!('response_id' in event));
      const [end] = ofType(read, 'response.completed');
      assert.deepEqual(anonymous(end?.response.output ?? []), anonymous(last?.response.output ?? []));
      assert.equal(end?.response.id, id);
    }
    assert.equal(serving.response(id).settlement?.turns, 3);
  },
);

overEveryWire(
  'a create sent again under its event_id is the same rollout, from its first event on, for its own caller',
  async (wire) => {
    await using serving = await wire.serve(script, { keys: ['alice', 'bob'] });
    const http = serving.http({ ...append, key: 'alice' });
    const first = await http.stream({ event_id: 'task' });
    const { response_id: id } = await first.until('response.done');
    first.stream.drop();
    const again = await http.stream({ event_id: 'task', input: 'whatever is asked now' });
    assert.equal((await again.until('response.done')).response_id, id);
    assert.deepEqual(again.taken, first.taken);
    await using peer = await serving.connect({ key: 'alice' });
    peer.send({ type: 'response.create', event_id: 'task', model: 'm' });
    assert.equal((await peer.until('response.created')).response.id, id, 'on a socket too');
    const other = await serving.http({ ...append, key: 'bob' }).stream({ event_id: 'task' });
    assert.notEqual((await other.until('response.created')).response.id, id);
    const refused = await http.refusedStream({ event_id: 'wrong', model: undefined });
    assert.equal(refused.error.param, 'model');
    await (await http.stream({ event_id: 'wrong' })).until('response.done');
    for (const event_id of ['', 7, 'x'.repeat(257)])
      assert.deepEqual(refusalOf(await http.refusedStream({ event_id })), [400, 'invalid_value', 'event_id']);
    assert.equal(serving.lab.engine.liveCount, 3);
  },
);

overEveryWire(
  'an append over HTTP interrupts as it does on a socket, and refuses what is no flag',
  async (wire) => {
    const long = 'a long text of many words';
    const slow = { decodeTokensPerSecond: 1000, tickMs: 0 };
    await using serving = await wire.serve([turn(say(long), say(long)), turn(say('gone on'))], slow);
    const http = serving.http(append);
    const events = await http.stream();
    const { id } = (await events.until('response.created')).response;
    const ask = (interrupt: unknown): Promise<Told> =>
      http.ask('POST', `/v1/responses/${id}/append`, { input: 'stop', interrupt });
    await serving.lab.clock.advance(2);
    assert.deepEqual(refusalOf(await ask('yes')), [400, 'invalid_value', 'interrupt']);
    assert.equal((await ask(true)).status, 200);
    await serving.lab.clock.advance(1000);
    const done = await events.until('response.done');
    assert.deepEqual([done.interrupted, done.output.length, done.required_input], [true, 1, []]);
    await events.rest();
    assert.equal(serving.lab.prompt.at(-1), 'user: stop');
  },
);
