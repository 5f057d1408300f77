import assert from 'node:assert/strict';

import type { ServerEvent } from '../../engine/index.js';
import { call, customCall, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, checkStream, numbersOf, ofType, responseIn } from '../testing/events.js';
import { isTerminal, type TPeer } from '../testing/peer.js';
import { overEveryWire } from '../testing/wire.js';

const designs = ['append', 'chain', 'replay', 'replay-cached'];
const everything = turn(
  { type: 'reasoning', summary: 'thinking it over' },
  say('some text'),
  call('f', '{"a":[1,2]}'),
  customCall('apply_patch', '*** Begin'),
);
const tools = [
  { type: 'function', name: 'f' },
  { type: 'custom', name: 'apply_patch' },
];

/** Plays one turn to its end; in the append design the Response is then cancelled. */
async function oneTurn(peer: TPeer, design: string, fields: object): Promise<ServerEvent[]> {
  const events = await peer.turn(fields);
  if (design !== 'append' || isTerminal(events.at(-1) ?? ({ type: 'error' } as never))) return events;
  peer.cancel(ofType(events, 'response.created')[0]?.response.id ?? '');
  return [...events, ...(await peer.through(isTerminal))];
}

for (const design of designs) {
  overEveryWire(`every kind of item streams by the grammar, in ${design} (P49 to P54, P56)`, async (wire) => {
    await using serving = await wire.serve([everything], { deltaTokensMax: 1 });
    await using peer = await serving.connect({ design });
    const events = await oneTurn(peer, design, { tools });
    checkStream(events);
    assert.deepEqual(
      ofType(events, 'response.output_item.done').map(({ item }) => item.type),
      ['reasoning', 'message', 'function_call', 'custom_tool_call'],
    );
    const [, , made] = ofType(events, 'response.output_item.done').map(({ item }) => item);
    assert.deepEqual(JSON.parse(String(made?.['arguments'])), { a: [1, 2] });
    assert.notEqual(made?.id, made?.['call_id']);
    for (const delta of ofType(events, 'response.output_text.delta'))
      assert.deepEqual(delta.logprobs, [], 'P61');
  });

  overEveryWire(`calls that interleave keep their own arguments, in ${design} (B15)`, async (wire) => {
    const script = [{ items: [call('a', '{"x":1}'), call('b', '{"y":2}')], interleave: true }];
    await using serving = await wire.serve(script, { deltaTokensMax: 1 });
    await using peer = await serving.connect({ design });
    const events = await oneTurn(peer, design, {});
    checkStream(events);
    assert.deepEqual(
      ofType(events, 'response.function_call_arguments.done').map((done) => [
        done.output_index,
        done.arguments,
      ]),
      [
        [0, '{"x":1}'],
        [1, '{"y":2}'],
      ],
    );
  });

  overEveryWire(
    `the Response has all 31 fields, and tools are echoed whole, in ${design} (P59)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('done'))]);
      await using peer = await serving.connect({ design });
      const events = await peer.turn({ tools });
      for (const event of events) {
        const response = responseIn(event);
        if (response === null) continue;
        for (const field of fields) assert.ok(field in response, field);
        assert.deepEqual(response.tools, [
          { type: 'function', name: 'f', description: null, parameters: null, strict: null },
          { type: 'custom', name: 'apply_patch' },
        ]);
      }
    },
  );

  overEveryWire(`tool_choice binds the turn it comes with, in ${design} (P57)`, async (wire) => {
    await using serving = await wire.serve(() => turn(say('text'), call('f')));
    await using peer = await serving.connect({ design });
    const calls = async (tool_choice: unknown): Promise<string[]> => {
      const events = await oneTurn(peer, design, {
        tools: [...tools, { type: 'function', name: 'g' }],
        tool_choice,
      });
      checkStream(events);
      return ofType(events, 'response.output_item.done').flatMap(({ item }) =>
        typeof item['name'] === 'string' ? [item['name']] : [],
      );
    };
    assert.deepEqual(await calls('none'), []);
    assert.deepEqual((await calls('required')).includes('f'), true);
    assert.deepEqual(await calls({ type: 'function', name: 'g' }), ['g']);
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] };
    assert.equal((await calls(allowed)).includes('f'), false);
  });

  overEveryWire(
    `output cut at its limit is incomplete, with its last item, in ${design} (P58)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('a text of some length'))]);
      await using peer = await serving.connect({ design });
      const events = await peer.turn({ max_output_tokens: 3 });
      checkStream(events);
      const { response } = ofType(events, 'response.incomplete')[0] ?? {};
      assert.deepEqual(response?.incomplete_details, { reason: 'max_output_tokens' });
      assert.equal(response?.output.at(-1)?.['status'], 'incomplete');
      assert.equal(response?.usage?.output_tokens, 3);
    },
  );

  overEveryWire(
    `no frame says [DONE], and each is an object with a string type, in ${design} (P3, P4)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say('done'))]);
      await using peer = await serving.connect({ design });
      await peer.turn();
      assert.deepEqual(await peer.rest(), []);
      for (const event of peer.received) assert.equal(typeof event.type, 'string');
    },
  );
}

overEveryWire(
  'a rollout of many turns numbers its events and items without a gap (B46, B47, B55)',
  async (wire) => {
    const turns = 12;
    await using serving = await wire.serve(({ context }) =>
      context.transcript.turns < turns - 1 ? turn(say('next'), call('a'), call('b')) : turn(say('done')),
    );
    await using peer = await serving.connect();
    const id = await peer.create();
    for (let number = 1; number < turns; number++) {
      const taken = await peer.through('response.done');
      const [a, b] = callIds(taken);
      assert.equal(ofType(taken, 'response.done')[0]?.turn, number);
      peer.append(id, output(a, `${number}`));
      peer.append(id, output(b, `${number}`));
    }
    await peer.until('response.completed');
    checkStream(peer.received);
    assert.equal(ofType(peer.received, 'response.output_item.added').length, 3 * (turns - 1) + 1);
    assert.deepEqual(numbersOf(peer.received).at(-1), serving.response(id).lastNumber);
  },
);

const fields = [
  'background',
  'completed_at',
  'created_at',
  'error',
  'frequency_penalty',
  'id',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'object',
  'output',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'status',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'usage',
];
