/** Chat completions: `POST {base}/chat/completions`. */
import {
  isCustomTool,
  isFunctionTool,
  isNamespaceTool,
  type CreateRequest,
  type CustomTool,
  type FunctionTool,
  type Tool,
  type ToolChoice,
} from '../../protocol/requests.js';
import { allowsCall } from '../../tool-choice.js';
import { isRecord } from '../../protocol/parse.js';
import type { TurnRequest } from '../sampler.js';
import { ChatFold } from './chat-fold.js';
import { chatMessages } from './chat-messages.js';
import { outputBound, type Dialect, type DialectParts } from './dialect.js';
import { objectAt, present, textAt, type JsonObject } from './json.js';
import { ToolNames, type CallStart } from './names.js';

const conversationUnitsMax = 64;

function functionTool({ description, parameters, strict }: FunctionTool, name: string): JsonObject {
  return present({
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: strict === true ? true : null,
  });
}

/** A custom tool as a function of one text; its grammar, where it has one, is told in words. */
function customTool(tool: CustomTool, name: string): JsonObject {
  const raw = tool['format'];
  const format = isRecord(raw) ? raw : null;
  const grammar = objectAt(format, 'grammar') ?? format;
  const definition = textAt(grammar, 'definition');
  const rule =
    definition === '' ? '' : `The input follows this ${textAt(grammar, 'syntax')} grammar:\n${definition}`;
  const description = [tool.description ?? '', rule].filter((text) => text !== '').join('\n\n');
  return present({
    name,
    description: description === '' ? null : description,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
  });
}

/** Function and custom tools, those in namespaces included; others have no form in this API. */
function chatTools(
  tools: readonly Tool[],
  names: ToolNames,
  choice: ToolChoice,
  namespace?: string,
): JsonObject[] {
  return tools.flatMap((tool): JsonObject[] => {
    if (isNamespaceTool(tool)) return chatTools(tool.tools, names, choice, tool.name);
    const named = isFunctionTool(tool) || isCustomTool(tool);
    if (!named) return [];
    const wanted =
      typeof choice === 'string' || choice.type !== 'allowed_tools' || allowsCall(choice, tool.name);
    if (!wanted) return [];
    const type: CallStart['type'] = isFunctionTool(tool) ? 'function_call' : 'custom_tool_call';
    const name = names.wire({ type, name: tool.name, namespace });
    return [
      {
        type: 'function',
        function: isFunctionTool(tool) ? functionTool(tool, name) : customTool(tool, name),
      },
    ];
  });
}

/** `allowed_tools` is kept by offering no others: few servers know it, and it is the same at every turn. */
function chatChoice(choice: ToolChoice, names: ToolNames): unknown {
  if (typeof choice === 'string') return choice === 'auto' ? null : choice;
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? 'required' : null;
  const type = choice.type === 'function' ? 'function_call' : 'custom_tool_call';
  return { type: 'function', function: { name: names.chosen(type, choice.name) } };
}

function responseFormat(request: CreateRequest): JsonObject | null {
  const format = request.text?.format ?? null;
  if (format === null || format.type === 'text') return null;
  if (format.type !== 'json_schema') return { type: format.type };
  const { type, name, schema, strict, description } = format;
  return { type, json_schema: present({ name, schema, strict, description }) };
}

export function chatDialect(parts: DialectParts): Dialect {
  const { endpoint, opening, model, contextTokensMax, reasoning } = parts;
  const { request, conversation } = opening;
  const names = new ToolNames();
  const tools = chatTools(request.tools ?? [], names, request.tool_choice ?? 'auto');
  const openai = endpoint.host === 'openai';
  const { instructions } = request;
  const spoken = (instructions ?? '') !== '';
  return {
    head: present({
      model,
      stream: true,
      stream_options: { include_usage: true },
      temperature: request.temperature,
      top_p: request.top_p,
      reasoning_effort: request.reasoning?.effort,
      response_format: responseFormat(request),
      verbosity: openai ? request.text?.verbosity : null,
      prompt_cache_key: openai && conversation.length <= conversationUnitsMax ? conversation : null,
      // llama.cpp keeps the prefix by this field in its older versions; elsewhere on the same machine it is ignored.
      cache_prompt: endpoint.host === 'loopback' ? true : null,
      tools: tools.length === 0 ? null : tools,
    }),
    list: 'messages',
    opening: spoken ? [JSON.stringify({ role: 'system', content: instructions })] : [],
    render: (items) =>
      chatMessages(items, { names, reasoningField: openai ? null : reasoning.field, developer: openai }),
    tail: (turn: TurnRequest) =>
      present({
        tool_choice: tools.length === 0 ? null : chatChoice(turn.toolChoice, names),
        parallel_tool_calls: tools.length > 0 && !turn.parallelToolCalls ? false : null,
        [openai ? 'max_completion_tokens' : 'max_tokens']: outputBound(turn, contextTokensMax),
      }),
    fold: (turn) =>
      new ChatFold(turn, names, (field) => {
        if (reasoning.field !== null) reasoning.field = field;
      }),
  };
}
