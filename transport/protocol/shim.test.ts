/** The shim: the wire of the chain design over the suspended loop. */
import assert from 'node:assert/strict';

import { call, customCall, customOutput, message, output, say, turn } from '../../engine/testing/lab.js';
import { callIds, numbersOf, ofType, responseIn } from '../testing/events.js';
import {
  answers,
  ask,
  checkNothingLeft,
  drop,
  ending,
  goOn,
  idOf,
  itemsIn,
  refused,
  work,
} from '../testing/turns.js';
import { overEveryWire } from '../testing/wire.js';

const shim = { design: 'shim' };
const loop = [turn(say('looking'), call('ls'), call('cat')), turn(call('grep')), turn(say('all done'))];

overEveryWire(
  'a rollout of three turns is three responses outside and one inside: one pre, one post, one bill (B115, P36, P37, P45, P55)',
  async (wire) => {
    await using serving = await wire.serve(loop);
    const peer = await serving.connect(shim);
    const one = await ask(peer);
    const two = await goOn(peer, one);
    const three = await goOn(peer, two);
    assert.equal(new Set([one, two, three].map(idOf)).size, 3);
    assert.deepEqual([one, two, three].map(ending), ['completed', 'completed', 'completed']);
    assert.equal(responseIn(three[0] ?? assert.fail())?.previous_response_id, idOf(two), 'P45');
    for (const events of [one, two, three]) {
      assert.deepEqual(numbersOf(events), [...events.keys()], 'numbers restart for each response (B55)');
      assert.deepEqual(ofType(events, 'response.completed')[0]?.response.output, itemsIn(events), 'P54');
      for (const event of events) assert.ok(!('stream_id' in event) && !('response_id' in event));
    }
    assert.deepEqual(serving.lab.prompt, [
      'user: hi',
      'assistant: looking',
      'assistant to=ls: {}',
      'assistant to=cat: {}',
      'tool: ok call_1',
      'tool: ok call_2',
      'assistant to=grep: {}',
      'tool: ok call_3',
    ]);
    await serving.lab.settle();
    assert.deepEqual(work(serving), { pre: 1, append: 2, post: 1, bills: 1 });
    assert.equal(serving.lab.model.stats.opened, 1);
    assert.equal(serving.lab.store.size, 0, 'nothing is stored (P37)');
    await drop(serving, peer);
    await checkNothingLeft(serving);
  },
);

overEveryWire(
  'usage is the whole context with what was held, and adds up to the one bill (B113)',
  async (wire) => {
    await using serving = await wire.serve(loop);
    await using peer = await serving.connect(shim);
    const one = await ask(peer);
    const two = await goOn(peer, one);
    const three = await goOn(peer, two);
    await serving.lab.settle();
    const usages = [one, two, three].map((events) => ofType(events, 'response.completed')[0]?.response.usage);
    let input = 0;
    let output_tokens = 0;
    for (const usage of usages) {
      assert.ok(usage);
      assert.ok(usage.input_tokens > usage.input_tokens_details.cached_tokens);
      input += usage.input_tokens - usage.input_tokens_details.cached_tokens;
      output_tokens += usage.output_tokens;
    }
    const [bill] = serving.lab.store.bills;
    assert.deepEqual([bill?.uncached_input_tokens, bill?.output_tokens], [input, output_tokens]);
    assert.ok((usages[2]?.input_tokens ?? 0) > (usages[1]?.input_tokens ?? 0));
  },
);

overEveryWire('a message rides along with the outputs and comes after them', async (wire) => {
  await using serving = await wire.serve(loop);
  await using peer = await serving.connect(shim);
  const one = await ask(peer);
  const [ls, cat] = callIds(one);
  const input = [output(cat, '2'), message('and be quick'), output(ls, '1')];
  await goOn(peer, one, { input });
  assert.deepEqual(serving.lab.prompt.slice(-3), ['tool: 1', 'tool: 2', 'user: and be quick']);
  assert.deepEqual([work(serving).pre, work(serving).append], [1, 1]);
});

overEveryWire('a call echoed beside its output is one call (B9)', async (wire) => {
  await using serving = await wire.serve(loop);
  await using peer = await serving.connect(shim);
  const one = await ask(peer);
  const two = await goOn(peer, one, { input: [...itemsIn(one).slice(1), ...answers(one)] });
  assert.equal(ending(two), 'completed');
  assert.equal(serving.lab.prompt.filter((block) => block.includes('to=ls')).length, 1);
  assert.equal(work(serving).pre, 1);
});

overEveryWire('a message after the final answer begins a new rollout on what was kept', async (wire) => {
  await using serving = await wire.serve([turn(say('one')), turn(say('two'))]);
  const peer = await serving.connect(shim);
  const one = await ask(peer);
  const two = await ask(peer, { previous_response_id: idOf(one), input: 'and?' });
  assert.equal(ending(two), 'completed');
  assert.deepEqual(serving.lab.prompt, ['user: hi', 'assistant: one', 'user: and?']);
  assert.deepEqual(work(serving), { pre: 2, append: 0, post: 2, bills: 2 });
  const [, bill] = serving.lab.store.bills;
  assert.ok((bill?.cached_input_tokens ?? 0) > 0, 'what the first one counted is held');
  await drop(serving, peer);
  await checkNothingLeft(serving);
});

overEveryWire(
  'new instructions, tools, model or settings go on from the transcript in a new rollout (B38, B39, B121)',
  async (wire) => {
    const f = { type: 'function', name: 'f' };
    for (const change of [
      { instructions: 'say BLUE' },
      { tools: [f] },
      { model: 'other' },
      { temperature: 0.5 },
      { max_output_tokens: 1000 },
      { tool_choice: 'none' },
      { store: true },
    ]) {
      await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
      const peer = await serving.connect(shim);
      const one = await ask(peer, { instructions: 'say RED' });
      const two = await goOn(peer, one, { instructions: 'say RED', ...change });
      assert.equal(ending(two), 'completed');
      const changed = 'instructions' in change;
      assert.deepEqual(
        serving.lab.prompt.filter((block) => !block.startsWith('system')),
        [
          ...('tools' in change ? serving.lab.prompt.filter((block) => block.startsWith('developer')) : []),
          'user: hi',
          'assistant to=ls: {}',
          'tool: ok call_1',
        ],
      );
      assert.equal(serving.lab.prompt[0]?.includes(changed ? 'say BLUE' : 'say RED'), true);
      assert.equal(serving.lab.prompt.join().includes('RED'), !changed, 'the old words are gone (B39)');
      assert.deepEqual([work(serving).pre, work(serving).append], [2, 0], JSON.stringify(change));
      await drop(serving, peer);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire('what each create says for itself is echoed and changes nothing', async (wire) => {
  await using serving = await wire.serve(loop);
  await using peer = await serving.connect(shim);
  const one = await ask(peer, { metadata: { step: '1' }, client_metadata: { thread_id: 't' }, stream: true });
  const two = await goOn(peer, one, { metadata: { step: '2' }, client_metadata: { at: 5 } });
  const three = await goOn(peer, two);
  for (const [events, metadata] of [
    [one, { step: '1' }],
    [two, { step: '2' }],
    [three, {}],
  ] as const)
    for (const event of [events[0], events.at(-1)])
      assert.deepEqual(event === undefined ? null : responseIn(event)?.metadata, metadata);
  assert.equal(work(serving).pre, 1);
});

overEveryWire(
  'a warm-up is created and completed without a sample, and its work is the rollout’s (P24, P25)',
  async (wire) => {
    for (const input of [undefined, [], 'hi', [message('hi')]]) {
      await using serving = await wire.serve([turn(call('ls')), turn(say('done'))]);
      const peer = await serving.connect(shim);
      const warm = await ask(peer, { generate: false, input: [message('base')] });
      assert.deepEqual(
        warm.map(({ type }) => type),
        ['response.created', 'response.in_progress', 'response.completed'],
      );
      const { output: items, usage } = ofType(warm, 'response.completed')[0]?.response ?? {};
      assert.deepEqual([items, usage?.output_tokens ?? 0], [[], 0]);
      assert.equal(serving.lab.model.stats.turns, 0);
      const one = await ask(peer, { previous_response_id: idOf(warm), input });
      const two = await goOn(peer, one);
      assert.equal(ending(two), 'completed');
      const said = input === undefined || input.length === 0 ? [] : ['user: hi'];
      assert.deepEqual(serving.lab.prompt.slice(0, -2), ['user: base', ...said]);
      await serving.lab.settle();
      assert.deepEqual([work(serving).pre, work(serving).post], [1, 1]);
      await drop(serving, peer);
      await checkNothingLeft(serving);
    }
  },
);

overEveryWire('bounds hold for each response on its own (P57, P58)', async (wire) => {
  await using serving = await wire.serve([turn(call('ls')), turn(call('ls')), turn(call('ls'), call('ls'))]);
  await using peer = await serving.connect(shim);
  const fields = {
    tools: [{ type: 'function', name: 'ls' }],
    tool_choice: 'required',
    max_tool_calls: 1,
    max_output_tokens: 40,
  };
  const one = await ask(peer, fields);
  const two = await goOn(peer, one, fields);
  assert.deepEqual([ending(one), ending(two)], ['completed', 'completed']);
  assert.deepEqual(
    serving.lab.turns.map(({ toolChoice, outputTokensMax }) => [toolChoice, outputTokensMax]),
    [
      ['required', 40],
      ['required', 40],
    ],
  );
  const three = await goOn(peer, two, fields);
  assert.deepEqual(ofType(three, 'response.incomplete')[0]?.response.incomplete_details, {
    reason: 'max_tool_calls',
  });
  assert.equal(work(serving).pre, 1);
});

overEveryWire('custom calls take their own kind of output (B4)', async (wire) => {
  await using serving = await wire.serve([turn(customCall('apply_patch', 'x')), turn(say('done'))]);
  await using peer = await serving.connect(shim);
  const one = await ask(peer);
  const two = await goOn(peer, one, { input: [customOutput(callIds(one)[0], 'applied')] });
  assert.equal(ending(two), 'completed');
  const again = await ask(peer);
  const wrong = await refused(peer, { previous_response_id: idOf(again), input: answers(again) });
  assert.equal(wrong.error.code, 'wrong_output_type');
  const gone = await refused(peer, { previous_response_id: idOf(again), input: answers(again) });
  assert.equal(gone.error.code, 'previous_response_not_found');
});
