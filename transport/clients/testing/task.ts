/**
 * The task that every client is given: two files are read at once, then what they say is counted. The model plays it
 * from the transcript alone, so it says the same in every design, and what it says proves what it was told.
 */
import assert from 'node:assert/strict';

import { z } from 'zod';

import type { Item } from '../../../engine/index.js';
import type { ScriptTurn, Script } from '../../../engine/samplers/script.js';
import { call, say, turn } from '../../../engine/testing/lab.js';

export const prompt = 'Compare a.txt with b.txt.';
const thought = 'Both first, then count.';
export const announcement = 'I read both.';

const files: Readonly<Record<string, string>> = { 'a.txt': 'alpha\r\n', 'b.txt': 'beta \u2028😀' };

const pathSchema = z.object({ path: z.string() });
const textSchema = z.object({ text: z.string() });

/** The client's tools, as functions. */
export const read = ({ path }: { readonly path: string }): string => files[path] ?? 'no such file';
export const count = ({ text }: { readonly text: string }): string => String(text.length);

/** Runs a call as it came over the wire. */
export function run(name: string, args: string): string {
  if (name === 'read') return read(pathSchema.parse(JSON.parse(args)));
  assert.equal(name, 'count');
  return count(textSchema.parse(JSON.parse(args)));
}

const object = (property: string) => ({
  type: 'object' as const,
  properties: { [property]: { type: 'string' as const } },
  required: [property],
  additionalProperties: false as const,
});

/** JSON Schemas of their arguments. */
export const parameters = { read: object('path'), count: object('text') };

/** The tools as the API is told of them. */
export const tools = [
  {
    type: 'function' as const,
    name: 'read',
    description: 'Reads a file.',
    parameters: parameters.read,
    strict: true,
  },
  {
    type: 'function' as const,
    name: 'count',
    description: 'Counts characters.',
    parameters: parameters.count,
    strict: true,
  },
];

const bothFiles = Object.values(files).join('');
const length = String(bothFiles.length);
export const answer = `They have ${length} characters: ${bothFiles}`;

/** What is sampled in a rollout of the task. */
export const turns = 3;

/** The transcript at the end of the task, in words: each call once, each output once, in order. */
export const story: readonly string[] = [
  `user: ${prompt}`,
  `reasoning: ${thought}`,
  `assistant: ${announcement}`,
  'calls read {"path":"a.txt"}',
  'calls read {"path":"b.txt"}',
  `read {"path":"a.txt"} gives ${files['a.txt']}`,
  `read {"path":"b.txt"} gives ${files['b.txt']}`,
  `calls count ${JSON.stringify({ text: bothFiles })}`,
  `count ${JSON.stringify({ text: bothFiles })} gives ${length}`,
];

/** The story as a client tells it that sends back no reasoning. */
export const storyWithoutReasoning = story.filter((line) => !line.startsWith('reasoning'));

function textOf(content: string | readonly object[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? String(part.text) : '')).join('');
}

/** An item in words. Outputs name the call that they answer. */
export function tell(items: readonly Item[]): string[] {
  const calls = new Map<string, string>();
  return items.map((item) => {
    if ('opaque' in item) return JSON.stringify(item);
    switch (item.type) {
      case 'message':
        return `${item.role}: ${textOf(item.content)}`;
      case 'reasoning':
        return `reasoning: ${textOf(item.summary)}`;
      case 'function_call':
      case 'custom_tool_call': {
        const words = `${item.name} ${'arguments' in item ? item.arguments : item.input}`;
        calls.set(item.call_id, words);
        return `calls ${words}`;
      }
      default:
        return `${calls.get(item.call_id)} gives ${textOf(item.output)}`;
    }
  });
}

function outputs(items: readonly Item[]): string[] {
  return items.flatMap((item) =>
    item.type === 'function_call_output' && 'output' in item && !('opaque' in item)
      ? [textOf(item.output)]
      : [],
  );
}

/** What may come before the task: a word and its echo. */
export const greeting = 'Hello.';
export const greetingStory: readonly string[] = [`user: ${greeting}`, `assistant: ${greeting}`];

/** The next turn of the task, by the outputs that the transcript holds. */
export const model: Script = ({ context }): ScriptTurn => {
  const items = context.transcript.items();
  if (tell(items).at(-1) === `user: ${greeting}`) return turn(say(greeting));
  const [a, b, counted, ...more] = outputs(items);
  assert.deepEqual(more, []);
  if (a === undefined)
    return turn(
      { type: 'reasoning', summary: thought },
      say(announcement),
      call('read', '{"path":"a.txt"}'),
      call('read', '{"path":"b.txt"}'),
    );
  if (counted === undefined) return turn(call('count', JSON.stringify({ text: `${a}${b}` })));
  return turn(say(`They have ${counted} characters: ${a}${b}`));
};
