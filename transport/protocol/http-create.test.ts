import assert from 'node:assert/strict';

import { call, message, output, say, turn } from '../../engine/testing/lab.js';
import { anonymous, callIds, checkStream, ofType } from '../testing/events.js';
import { isTerminal } from '../testing/peer.js';
import { overEveryWire, type Serving } from '../testing/wire.js';

const script = [turn(say('let me look'), call('ls')), turn(say('done'))];
const prompt = [
  'system: be brief',
  'user: hi',
  'assistant: let me look',
  'assistant to=ls: {}',
  'tool: bin etc',
  'assistant: done',
].slice(0, -1);

function passages({ lab }: Serving): unknown[] {
  return ['pre.validate', 'append.validate', 'post.store', 'post.bill'].map(
    (stage) => lab.engine.stageRuns[stage]?.runs ?? 0,
  );
}

const perTurn = [
  { design: 'chain', passed: [2, 0, 2, 2] },
  { design: 'shim', passed: [1, 1, 1, 1] },
] as const;

for (const { design, passed } of perTurn) {
  overEveryWire(
    `${design}: two creates in JSON are one rollout (P7, P16, P36, P41, P45, P55, P59)`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const http = serving.http({ design });
      const instructions = 'be brief';
      const first = (await http.create({ instructions, metadata: { of: 'mine' } })).response;
      assert.deepEqual([first.status, first.output.length, first.metadata], ['completed', 2, { of: 'mine' }]);
      const callId = first.output[1]?.['call_id'];
      const wrong = await http.create({ previous_response_id: first.id, input: [output('call_x', 'x')] });
      assert.equal(wrong.error.code, 'unknown_call_id');
      const input = [output(String(callId), 'bin etc')];
      const second = (await http.create({ instructions, previous_response_id: first.id, input })).response;
      assert.deepEqual([second.previous_response_id, second.status], [first.id, 'completed']);
      assert.notEqual(second.id, first.id);
      assert.deepEqual(serving.lab.prompt, prompt);
      assert.equal(serving.lab.engine.liveCount, 0);
      assert.deepEqual(passages(serving).slice(2), passed.slice(2));
    },
  );

  overEveryWire(
    `${design}: two creates as streams are one rollout (P5, P49, P52, P53, P54, P61)`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const http = serving.http({ design });
      const events = await http.stream({ instructions: 'be brief' });
      assert.equal(events.stream.headers['cache-control'], 'no-cache');
      const first = await events.rest();
      checkStream(first);
      const { response } = ofType(first, 'response.completed')[0] ?? {};
      const second = await http.turn({
        instructions: 'be brief',
        previous_response_id: response?.id,
        input: [output(callIds(first)[0], 'bin etc')],
      });
      checkStream(second);
      assert.equal(second.at(-1)?.type, 'response.completed');
      assert.deepEqual(serving.lab.prompt, prompt);
      assert.deepEqual(passages(serving), passed);
      for (const event of [...first, ...second]) {
        assert.ok(!('response_id' in event) && !('stream_id' in event) && !('id' in event));
        if (event.type.startsWith('response.output_text.'))
          assert.deepEqual('logprobs' in event && event.logprobs, []);
      }
    },
  );

  overEveryWire(`${design}: a stored response goes on over HTTP and on any socket (P42)`, async (wire) => {
    await using serving = await wire.serve([turn(say('one')), turn(say('two')), turn(say('three'))]);
    const http = serving.http({ design });
    await using peer = await serving.connect({ design });
    const [created] = ofType(await peer.turn(), 'response.created');
    const second = (await http.create({ previous_response_id: created?.response.id, input: 'go on' }))
      .response;
    const third = await peer.turn({ previous_response_id: second.id, input: 'and on' });
    assert.equal(third.at(-1)?.type, 'response.completed');
    assert.deepEqual(serving.lab.prompt, [
      'user: hi',
      'assistant: one',
      'user: go on',
      'assistant: two',
      'user: and on',
    ]);
  });

  overEveryWire(
    `${design}: what is not stored goes nowhere from HTTP, which has no connection to keep it (P38, B42)`,
    async (wire) => {
      await using serving = await wire.serve(script);
      const http = serving.http({ design });
      const { id } = (await http.create({ store: false, tool_choice: 'none' })).response;
      const { error, status } = await http.create({ previous_response_id: id, input: 'go on' });
      assert.deepEqual(
        [status, error.code, error.param],
        [400, 'previous_response_not_found', 'previous_response_id'],
      );
      assert.equal((await http.get(id)).error.code, 'response_not_found');
    },
  );
}

overEveryWire(
  'replay: each create brings the whole history, as JSON and as a stream (P7, P5)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const http = serving.http({ design: 'replay' });
    const { output: items } = (await http.create({ instructions: 'be brief' })).response;
    const answer = output(String(items[1]?.['call_id']), 'bin etc');
    const events = await http.turn({ instructions: 'be brief', input: [message('hi'), ...items, answer] });
    checkStream(events);
    assert.equal(events.at(-1)?.type, 'response.completed');
    assert.deepEqual(serving.lab.prompt, prompt);
    assert.deepEqual(passages(serving), [2, 0, 2, 2]);
  },
);

for (const design of ['append', 'chain', 'shim', 'replay'])
  overEveryWire(`${design}: a socket, a stream and JSON say the same (P23)`, async (wire) => {
    const said: unknown[][] = [];
    const thought = { type: 'reasoning', summary: 'two words' } as const;
    // The append design would wait for its client.
    const items = [thought, say('text'), ...(design === 'append' ? [] : [call('ls', '{"a":1}'), call('ls')])];
    const fields = { metadata: { a: 'b' }, tools: [{ type: 'function', name: 'ls' }] };
    for (const route of ['socket', 'lane', 'stream', 'json']) {
      await using serving = await wire.serve([turn(...items)]);
      const http = serving.http({ design });
      await using peer = await serving.connect({ design });
      if (route === 'socket') said.push(await peer.turn(fields));
      else if (route === 'stream') said.push(await http.turn(fields));
      else if (design !== 'append' && route === 'json') {
        const { response } = await http.create(fields);
        said.push([...(said[0] ?? []).slice(0, -1), { ...(said[0]?.at(-1) as object), response }]);
      } else if (design !== 'append') {
        const events = await peer.turn({ ...fields, stream_id: 'lane' });
        said.push(events.map((event) => ({ ...event, stream_id: undefined })));
      }
    }
    assert.equal(said.length, design === 'append' ? 2 : 4);
    for (const events of said) {
      assert.ok(events.length > 5);
      assert.deepEqual(anonymous(events), anonymous(said[0] ?? []));
    }
  });

overEveryWire('a stream_id over HTTP is a field that nobody reads, whatever it is (P35)', async (wire) => {
  await using serving = await wire.serve(() => turn(say('done')));
  for (const design of ['append', 'chain', 'shim', 'replay'])
    for (const stream_id of ['lane', '', 'no lane!', 7]) {
      const http = serving.http({ design });
      const events = await http.turn({ stream_id });
      checkStream(events);
      for (const event of events) assert.ok(!('stream_id' in event));
      if (design !== 'append') assert.equal((await http.create({ stream_id })).response.status, 'completed');
    }
});

overEveryWire('each event of a stream is one write, the end mark too (P6)', async (wire) => {
  await using serving = await wire.serve([turn(say('some text'))]);
  const events = await serving.http({ design: 'chain' }).stream();
  const taken = await events.rest();
  const { received } = events.stream.chunks;
  assert.equal(received.length, taken.length + 1);
  for (const chunk of received) assert.match(chunk, /^(event: \S+\n)?data: .*\n\n$/);
  assert.equal(received.at(-1), 'data: [DONE]\n\n');
});

overEveryWire(
  'headers, fields and a design that nobody asked about do no harm (P11, P17, B70)',
  async (wire) => {
    await using serving = await wire.serve(() => turn(say('done')));
    const headers = { 'openai-beta': 'responses_websockets=2026-02-06', 'x-unknown': 'y', 'user-agent': 'x' };
    const http = serving.http({ headers });
    const harmless = { background: false, stream_options: { include_obfuscation: false }, x_unknown: 1 };
    assert.equal((await http.create({ ...harmless, stream: false })).response.background, false);
    const neither = await http.create({ stream: 'yes' });
    assert.deepEqual([neither.status, neither.error.param], [400, 'stream']);
    const { error, status } = await http.create({ background: true });
    assert.deepEqual([status, error.code, error.param], [400, 'unsupported_parameter', 'background']);
    assert.equal((await http.turn(harmless)).some(isTerminal), true);
    const { response } = await http.create({ input: 'hi' });
    const { response: listed } = await http.create({ input: [message('hi')] });
    assert.deepEqual(serving.lab.prompt, ['user: hi'], 'a string is one user message (P19)');
    assert.equal(response.usage?.input_tokens, listed.usage?.input_tokens);
  },
);
