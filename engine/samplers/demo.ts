/**
 * The demo script: a model without a model, for a server that someone tries by hand. It calls the first tool that it is
 * offered and then says what came back; with no tool it repeats what the user said. Where JSON is asked for it says an
 * example of it instead.
 */
import { isOpaque, isSampled, isToolOutput, type Item } from '../protocol/items.js';
import { isRecord } from '../protocol/parse.js';
import { allowsCall } from '../tool-choice.js';
import type { Transcript } from '../transcript.js';
import { callableTools, type CallableTool } from './choice.js';
import type { SamplerOpening, TurnRequest } from './sampler.js';
import type { ScriptItem, ScriptTurn } from './script.js';

/** Characters of an echo. */
const echoMax = 2000;
/** Objects within objects that an example goes into; a schema may contain itself. */
const depthMax = 8;

type Schema = Readonly<Record<string, unknown>>;

/** What a `$ref` into the definitions of the whole schema names. */
function definition(ref: unknown, root: Schema): unknown {
  const [, list, name] = /^#\/(\$defs|definitions)\/(.+)$/.exec(String(ref)) ?? [];
  if (list === undefined || name === undefined) return ref === '#' ? root : null;
  const named = root[list];
  return isRecord(named) ? named[name] : null;
}

function exampleObject(schema: Schema, depth: number, root: Schema): unknown {
  const { properties, required } = schema;
  if (!Array.isArray(required) || depth >= depthMax) return {};
  const names = required.filter((name) => typeof name === 'string');
  const declared = isRecord(properties) ? properties : {};
  return Object.fromEntries(names.map((name) => [name, exampleOf(declared[name], depth + 1, root)]));
}

/** A value that the JSON Schema allows, as far as its type, its enum and its required properties say. */
export function exampleOf(schema: unknown, depth = 0, root?: Schema): unknown {
  if (!isRecord(schema)) return 'demo';
  const whole = root ?? schema;
  if ('$ref' in schema)
    return depth >= depthMax ? null : exampleOf(definition(schema['$ref'], whole), depth + 1, whole);
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['anyOf'])) return exampleOf(schema['anyOf'][0], depth, whole);
  const types: unknown[] = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  switch (types[0] ?? ('properties' in schema ? 'object' : 'string')) {
    case 'object':
      return exampleObject(schema, depth, whole);
    case 'array':
      return [];
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'demo';
  }
}

function textOf(content: string | readonly object[]): string {
  if (typeof content === 'string') return content;
  const texts = content.map((part) => ('text' in part ? String(part.text) : ''));
  return texts.filter((text) => text !== '').join('\n');
}

function shorten(text: string): string {
  if (text.length <= echoMax) return text;
  // A character that the cut would halve is left out.
  return `${text.slice(0, echoMax).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** What a client added since the last turn. */
function newItems(transcript: Transcript): Item[] {
  let from = transcript.length;
  while (from > 0 && !isSampled(transcript.at(from - 1).item)) from--;
  return transcript.items(from);
}

function lastUserText(transcript: Transcript): string {
  for (let index = transcript.length - 1; index >= 0; index--) {
    const { item } = transcript.at(index);
    if (!isOpaque(item) && item.type === 'message' && item.role === 'user') return textOf(item.content);
  }
  return '';
}

function demoCall(tool: CallableTool): ScriptItem {
  const example = isRecord(tool.parameters) ? exampleObject(tool.parameters, 0, tool.parameters) : {};
  return {
    type: 'function_call',
    name: tool.name,
    namespace: tool.namespace,
    arguments: JSON.stringify(example),
  };
}

/** What the demo says for an answer, in the format that was asked for. */
function answer(text: string, { request }: SamplerOpening): ScriptTurn {
  const format = request.text?.format ?? { type: 'text' };
  const said =
    format.type === 'json_schema'
      ? JSON.stringify(exampleOf(format.schema))
      : format.type === 'json_object'
        ? JSON.stringify({ text })
        : text;
  return { items: [{ type: 'message', text: said }] };
}

/** A script (see `ScriptedOptions`) that needs no scenario: it answers from the request and the transcript. */
export function demoScript({ context, toolChoice }: TurnRequest, opening: SamplerOpening): ScriptTurn {
  const outputs = newItems(context.transcript).filter(isToolOutput);
  if (outputs.length > 0) {
    const answers = outputs.map(({ output }) => textOf(output)).join('\n');
    return answer(`The tool answered: ${shorten(answers)}`, opening);
  }
  const tool = callableTools(opening.request.tools ?? []).find(
    ({ type, name }) => type === 'function' && allowsCall(toolChoice, name),
  );
  if (tool !== undefined) return { items: [demoCall(tool)] };
  return answer(`You said: ${shorten(lastUserText(context.transcript))}`, opening);
}
