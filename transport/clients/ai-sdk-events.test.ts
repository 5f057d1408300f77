/** Every event of a rollout through the parsers of the AI SDK, which refuse what they do not know. */
import assert from 'node:assert/strict';

import { openai } from '@ai-sdk/openai';
import { streamText } from 'ai';

import { call, customCall, say, turn } from '../../engine/testing/lab.js';
import { httpModel, noted, socketModel, task, tools } from './testing/ai-sdk.js';
import { inEachShape } from './testing/service.js';

const firstTokenMs = 290_000;
const script = [
  turn({ type: 'reasoning', summary: 'Look first.' }, say('I look.'), call('read', '{"path":"a.txt"}')),
  turn(customCall('patch', 'a line')),
  turn(say('It is done.')),
];
const patch = { ...openai.tools.customTool({}), execute: async () => 'patched' };

/** Every type that a response of one turn can have, but for the terminals of those that do not complete. */
const eventTypes = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.reasoning_summary_part.done',
  'response.output_item.done',
  'response.content_part.added',
  'response.output_text.delta',
  'response.output_text.done',
  'response.content_part.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.completed',
];

for (const [route, modelFor] of [
  ['one socket', socketModel],
  ['HTTP', httpModel],
] as const)
  inEachShape(
    `the AI SDK reads every event of a slow rollout over ${route}, heartbeats included (B52)`,
    async (service, design) => {
      using connected = modelFor(service, design);
      const { errors, onError } = noted();
      const result = streamText({
        ...task,
        model: connected.model,
        tools: { ...tools, patch },
        include: { rawChunks: true },
        providerOptions: { openai: { store: false } },
        onError,
      });
      const raw: string[] = [];
      const reading = (async () => {
        for await (const part of result.fullStream)
          if (part.type === 'raw') raw.push((part.rawValue as { type: string }).type);
      })();
      for (let step = 0; step < script.length; step++) {
        await service.turnBegun();
        await service.lab.settle();
        await service.lab.clock.advance(firstTokenMs);
      }
      await reading;
      assert.deepEqual(errors, []);
      assert.deepEqual(new Set(raw), new Set(eventTypes));
      // One when it is created, then one for each half minute of silence.
      assert.equal(raw.filter((type) => type === 'response.in_progress').length, script.length * (1 + 9));
      assert.equal(await result.text, 'It is done.');
      assert.equal((await result.steps).length, script.length);
    },
    { script, firstTokenMs },
  );
