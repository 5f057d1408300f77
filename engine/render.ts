/**
 * Items to tokens, through the Tokenizer port, in the manner of the harmony format.
 *
 *   R1  Control tokens are set by id and never read from text, so no client can write one.
 *   R2  Forms, where <…> is a control token and the rest is text:
 *         message          <start> role <message> content <end>
 *         calls            <start> assistant to=[namespace.]name <message> arguments or input <call>
 *         outputs          <start> tool <message> output <end>
 *         reasoning        <start> assistant analysis <message> content or, without it, summary <end>
 *         opaque items     <start> type <message> JSON of the item, media as fill <end>
 *         compactions      <start> developer <message> the summary <end>
 *         preamble         <start> system <message> instructions, or one tool <end>
 *       An output names no call: outputs stand in call order, right after their calls (S2).
 *   R3  Nothing that is minted per Response is rendered (id, call_id, approval_request_id, status), so that a history
 *       that a client sends back costs what it cost when it was sampled.
 *   R4  Content parts follow each other with nothing between them. Text and refusals are text; an image is 85 fill
 *       tokens, the base cost of an image in low detail, whatever its size; a file is its name as text and one fill
 *       token per 4 characters of `file_data`. Neither is decoded or fetched. In an opaque item every data URL and the
 *       `result` of an image generation counts so, and stands in its JSON as an empty string.
 *   R6  `encrypted_content` is carried and costs nothing, in reasoning and in opaque items alike: what it holds is known
 *       to nobody here, its length says little about it, and with a cost an item would weigh more for a client that
 *       asked to see it than for one that did not. A model that reads it counts it in its own `usage`.
 *   R5  When the tokenizer answers in line, so does the rendering. Every text goes whole to the tokenizer, which
 *       bounds the work (S7); texts follow one another, so that it can bound their sum too.
 */
import {
  isOpaque,
  isToolCall,
  isToolOutput,
  type InputPart,
  type Item,
  type KnownItem,
  type MessagePart,
  type OpaqueItem,
} from './protocol/items.js';
import { opaqueText } from './opaque-text.js';
import { compactedIn } from './protocol/compaction-item.js';
import {
  isCustomTool,
  isFunctionTool,
  isNamespaceTool,
  type FunctionTool,
  type Tool,
} from './protocol/requests.js';
import type { Tokenizer } from './ports.js';
import { blockOf, control, inOrder, type Tokens } from './blocks.js';

export { control, joined } from './blocks.js';

type Encode = (text: string) => Tokens;

/** Fill tokens of one image (R4). */
export const imageTokens = 85;
/** Characters of `file_data` per fill token (R4). */
export const fileUnitsPerToken = 4;

function fill(count: number, id: number): Uint32Array {
  return new Uint32Array(count).fill(id);
}

function imageFill(): Uint32Array {
  return fill(imageTokens, control.image);
}
function fileFill(units: number): Uint32Array {
  return fill(Math.ceil(units / fileUnitsPerToken), control.file);
}

function partTokens(part: InputPart | MessagePart, encode: Encode): Tokens {
  if (part.type === 'refusal') return encode(part.refusal);
  if (part.type === 'input_image') return imageFill();
  if (part.type !== 'input_file') return encode(part.text);
  const pieces = [part.filename ?? '', fileFill(part.file_data?.length ?? 0)];
  return inOrder(pieces, (piece) => (typeof piece === 'string' ? encode(piece) : piece));
}

function contentTokens(content: string | readonly (InputPart | MessagePart)[], encode: Encode): Tokens {
  if (typeof content === 'string') return encode(content);
  return inOrder(content, (part) => partTokens(part, encode));
}

function payloadTokens(item: KnownItem, encode: Encode): Tokens {
  if (isToolCall(item)) return encode(item.type === 'function_call' ? item.arguments : item.input);
  if (isToolOutput(item)) return contentTokens(item.output, encode);
  if (item.type === 'reasoning') {
    const thoughts = item.content ?? [];
    const texts = (thoughts.length > 0 ? thoughts : item.summary).map((part) => part.text);
    return inOrder(texts, encode);
  }
  return contentTokens(item.content, encode);
}

function headerOf(item: KnownItem): string {
  if (isToolCall(item))
    return `assistant to=${item.namespace === undefined ? '' : `${item.namespace}.`}${item.name}`;
  if (isToolOutput(item)) return 'tool';
  return item.type === 'reasoning' ? 'assistant analysis' : item.role;
}

/** The JSON of an opaque item, then the fill of the media it holds (R4, R6). */
function opaqueTokens(item: OpaqueItem, encode: Encode): Tokens {
  const { json, media } = opaqueText(item);
  const fills = media.map(({ type, units }) => (type === 'image' ? imageFill() : fileFill(units)));
  return inOrder([json, ...fills], (part) => (typeof part === 'string' ? encode(part) : part));
}

/**
 * The tokens of one item (R2). `content` are the tokens of its payload, where the sampler already knows them: the text
 * of a message, the arguments or input of a call, the content or summary of reasoning. They are taken as they are and nothing but
 * the header is tokenised. Opaque items have no such payload and ignore it. Rejects with the signal's reason.
 */
export function renderItem(
  item: Item,
  tokenizer: Tokenizer,
  signal: AbortSignal,
  content?: Uint32Array,
): Uint32Array | Promise<Uint32Array> {
  const encode: Encode = (text) => tokenizer.encode(text, signal);
  const compacted = compactedIn(item);
  if (compacted !== null)
    return blockOf('developer', encode(compacted.summary), control.end, tokenizer, signal);
  if (isOpaque(item)) return blockOf(item.type, opaqueTokens(item, encode), control.end, tokenizer, signal);
  const close = isToolCall(item) ? control.call : control.end;
  return blockOf(headerOf(item), content ?? payloadTokens(item, encode), close, tokenizer, signal);
}

/** The schema of a function that takes nothing, in whichever of the usual ways that is said. */
const noParameters = '{"type":"object","properties":{}}';

function parametersJson(parameters: FunctionTool['parameters']): string {
  const says = Object.entries(parameters ?? {}).some(
    ([keyword, value]) =>
      !(keyword === 'type' && value === 'object') && !(keyword === 'properties' && isEmptyObject(value)),
  );
  return says ? JSON.stringify(parameters) : noParameters;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function lines(...texts: (string | null | undefined)[]): string {
  return texts.filter((text) => text !== null && text !== undefined && text !== '').join('\n');
}

/** One text per tool, inner tools of a namespace by their qualified names. */
function toolTexts(tool: Tool, qualifier: string): string[] {
  if (isFunctionTool(tool))
    return [lines(qualifier + tool.name, tool.description, parametersJson(tool.parameters))];
  if (isCustomTool(tool))
    return [lines(qualifier + tool.name, tool.description, JSON.stringify(tool['format']))];
  if (!isNamespaceTool(tool)) return [tool.type];
  const name = qualifier + tool.name;
  const inner = tool.tools.flatMap((each) => toolTexts(each, `${name}.`));
  return lines(tool.description) === '' ? inner : [lines(name, tool.description), ...inner];
}

/**
 * What the model reads before the transcript: the instructions, then each tool's name, description and schema, each
 * in a system block of its own (R2). Hosted and future tools are rendered by their type alone. Empty when there is
 * neither. Rejects with the signal's reason.
 */
export function renderPreamble(
  instructions: string | null,
  tools: readonly Tool[],
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Uint32Array | Promise<Uint32Array> {
  const texts = tools.flatMap((tool) => toolTexts(tool, ''));
  if (instructions !== null && instructions !== '') texts.unshift(instructions);
  return inOrder(texts, (text) =>
    blockOf('system', tokenizer.encode(text, signal), control.end, tokenizer, signal),
  );
}
