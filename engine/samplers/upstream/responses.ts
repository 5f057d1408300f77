/** The Responses API: `POST {base}/responses`, stateless: every request carries the whole transcript. */
import { isOpaque, isToolOutput, type Item, type MessagePart } from '../../protocol/items.js';
import type { Tool } from '../../protocol/requests.js';
import { outputBound, type Dialect, type DialectParts } from './dialect.js';
import { present, type JsonObject } from './json.js';
import { ResponsesFold } from './responses-fold.js';

/** OpenAI's own bound for a cache key. */
const conversationUnitsMax = 64;
/** Fewer tokens than this are refused by OpenAI's API. */
const outputTokensMin = 16;

/** Models that do not reason, and refuse to be asked for their encrypted reasoning. */
const plainModels = /^(?:gpt-3|gpt-4|chatgpt)/;

/** Whose id is what the answer names, or all there is. Other ids are of this engine and mean nothing upstream. */
const namedById = new Set(['mcp_approval_request', 'item_reference']);

function partOf(part: MessagePart): JsonObject {
  if (part.type === 'output_text') return { type: part.type, text: part.text };
  return present(part);
}

/** An item as the API takes it, or null for reasoning that holds nothing the model could read. */
function itemOf(item: Item): JsonObject | null {
  if (isOpaque(item)) {
    const { opaque: _, id, status, ...fields } = item;
    return present(namedById.has(item.type) ? { id, ...fields } : { ...fields, status });
  }
  const { type } = item;
  if (isToolOutput(item)) {
    const { output } = item;
    return { type, call_id: item.call_id, output: typeof output === 'string' ? output : output.map(present) };
  }
  switch (item.type) {
    case 'message': {
      const { role, content, phase } = item;
      return present({
        type,
        role,
        phase,
        content: typeof content === 'string' ? content : content.map(partOf),
      });
    }
    case 'reasoning': {
      const { summary, content, encrypted_content } = item;
      if ((encrypted_content ?? '') === '' && !content?.length) return null;
      return present({ type, summary, content: content?.length ? content : null, encrypted_content });
    }
    case 'function_call':
      return present({
        type,
        call_id: item.call_id,
        name: item.name,
        namespace: item.namespace,
        arguments: item.arguments,
      });
    default:
      return present({
        type,
        call_id: item.call_id,
        name: item.name,
        namespace: item.namespace,
        input: item.input,
      });
  }
}

/** A tool without the engine's own mark. */
function toolOf(tool: Tool): JsonObject {
  const { other: _, ...fields } = { other: null, ...tool };
  return 'tools' in fields && tool.type === 'namespace' && 'tools' in tool
    ? { ...fields, tools: tool.tools.map(toolOf) }
    : fields;
}

export function responsesDialect({ endpoint, opening, model, contextTokensMax }: DialectParts): Dialect {
  const { request, conversation } = opening;
  const tools = (request.tools ?? []).map(toolOf);
  const offered = tools.length > 0;
  return {
    head: present({
      model,
      stream: true,
      store: false,
      include: plainModels.test(model) ? null : ['reasoning.encrypted_content'],
      prompt_cache_key: conversation.length <= conversationUnitsMax ? conversation : null,
      prompt_cache_retention: endpoint.host === 'openai' ? request.prompt_cache_retention : null,
      temperature: request.temperature,
      top_p: request.top_p,
      reasoning: request.reasoning && present(request.reasoning),
      text: request.text && present(request.text),
      instructions: request.instructions,
      tools: offered ? tools : null,
    }),
    list: 'input',
    opening: [],
    render: (items) =>
      items.flatMap((item) => {
        const json = itemOf(item);
        return json === null ? [] : [JSON.stringify(json)];
      }),
    tail(turn) {
      const bound = outputBound(turn, contextTokensMax);
      return present({
        tool_choice: offered && turn.toolChoice !== 'auto' ? turn.toolChoice : null,
        parallel_tool_calls: offered && !turn.parallelToolCalls ? false : null,
        max_output_tokens: bound === null ? null : Math.max(bound, outputTokensMin),
      });
    },
    fold: (turn) => new ResponsesFold(turn),
  };
}
