/**
 * Items to tokens, through the Tokenizer port, in the manner of the harmony format.
 *
 *   R1  Control tokens are set by id and never read from text, so no client can write one.
 *   R2  Forms, where <…> is a control token and the rest is text:
 *         message          <start> role <message> content <end>
 *         calls            <start> assistant to=[namespace.]name <message> arguments or input <call>
 *         outputs          <start> tool <message> output <end>
 *         reasoning        <start> assistant analysis <message> summary <end>
 *         opaque items     <start> type <message> JSON of the item <end>
 *         preamble         <start> system <message> instructions, or one tool <end>
 *       An output names no call: outputs stand in call order, right after their calls (S2).
 *   R3  Nothing that is minted per Response is rendered (id, call_id, status), so that a history that a client sends
 *       back costs what it cost when it was sampled.
 *   R4  Content parts follow each other with nothing between them. Text and refusals are text; an image is 85 fill
 *       tokens, the base cost of an image in low detail, whatever its size; a file is its name as text and one fill
 *       token per 4 characters of `file_data`. Neither is decoded or fetched. `encrypted_content` and the `content` of
 *       reasoning are carried and cost nothing.
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
import type { CustomTool, FunctionTool, NamespaceTool, Tool } from './protocol/requests.js';
import type { Tokenizer } from './ports.js';

/** Ids of o200k_harmony. It has none for images and files, so two of its reserved ids fill their place. */
export const control = {
  start: 200006,
  end: 200007,
  message: 200008,
  call: 200012,
  image: 200013,
  file: 200014,
} as const;

/** Fill tokens of one image (R4). */
export const imageTokens = 85;
/** Characters of `file_data` per fill token (R4). */
export const fileUnitsPerToken = 4;

/** Openings remembered per tokenizer, and the longest header that is remembered, in UTF-16 units. */
const openingsMax = 1024;
const headerUnitsMax = 256;

type Tokens = Uint32Array | Promise<Uint32Array>;
type Encode = (text: string) => Tokens;

/** Runs of tokens, one after another; a single one is given back as it is. */
export function joined(parts: readonly Uint32Array[]): Uint32Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const whole = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Renders parts one after another, with a promise only from the first part on that needs one (R5). */
function inOrder<Part>(parts: readonly Part[], render: (part: Part) => Tokens): Tokens {
  const done: Uint32Array[] = [];
  for (const [index, part] of parts.entries()) {
    const tokens = render(part);
    if (!(tokens instanceof Uint32Array)) return finished(done, tokens, parts.slice(index + 1), render);
    done.push(tokens);
  }
  return joined(done);
}

async function finished<Part>(
  done: Uint32Array[],
  next: Promise<Uint32Array>,
  parts: readonly Part[],
  render: (part: Part) => Tokens,
): Promise<Uint32Array> {
  done.push(await next);
  for (const part of parts) done.push(await render(part));
  return joined(done);
}

const openings = new WeakMap<Tokenizer, Map<string, Uint32Array>>();

/** `<start> header <message>`. Headers are short and few, so their tokens are remembered; the oldest go first. */
function openingOf(header: string, tokenizer: Tokenizer, signal: AbortSignal): Tokens {
  let known = openings.get(tokenizer);
  if (known === undefined) openings.set(tokenizer, (known = new Map<string, Uint32Array>()));
  const remembered = known.get(header);
  if (remembered !== undefined) return remembered;
  const tokens = tokenizer.encode(header, signal);
  if (!(tokens instanceof Uint32Array)) return tokens.then(opened);
  const opening = opened(tokens);
  if (header.length <= headerUnitsMax) known.set(header, opening);
  for (const oldest of known.keys()) {
    if (known.size <= openingsMax) break;
    known.delete(oldest);
  }
  return opening;
}

function opened(header: Uint32Array): Uint32Array {
  const opening = new Uint32Array(header.length + 2);
  opening[0] = control.start;
  opening.set(header, 1);
  opening[header.length + 1] = control.message;
  return opening;
}

function closed(opening: Uint32Array, body: Uint32Array, close: number): Uint32Array {
  const block = new Uint32Array(opening.length + body.length + 1);
  block.set(opening);
  block.set(body, opening.length);
  block[block.length - 1] = close;
  return block;
}

function blockOf(
  header: string,
  body: Tokens,
  close: number,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Tokens {
  const opening = openingOf(header, tokenizer, signal);
  if (opening instanceof Uint32Array && body instanceof Uint32Array) return closed(opening, body, close);
  return Promise.all([opening, body]).then((both) => closed(...both, close));
}

function fill(count: number, id: number): Uint32Array {
  return new Uint32Array(count).fill(id);
}

function partTokens(part: InputPart | MessagePart, encode: Encode): Tokens {
  if (part.type === 'refusal') return encode(part.refusal);
  if (part.type === 'input_image') return fill(imageTokens, control.image);
  if (part.type !== 'input_file') return encode(part.text);
  const filler = fill(Math.ceil((part.file_data?.length ?? 0) / fileUnitsPerToken), control.file);
  return inOrder([part.filename ?? '', filler], (piece) =>
    typeof piece === 'string' ? encode(piece) : piece,
  );
}

function contentTokens(content: string | readonly (InputPart | MessagePart)[], encode: Encode): Tokens {
  if (typeof content === 'string') return encode(content);
  return inOrder(content, (part) => partTokens(part, encode));
}

function payloadTokens(item: KnownItem, encode: Encode): Tokens {
  if (isToolCall(item)) return encode(item.type === 'function_call' ? item.arguments : item.input);
  if (isToolOutput(item)) return contentTokens(item.output, encode);
  if (item.type === 'reasoning') return inOrder(item.summary, (part) => encode(part.text));
  return contentTokens(item.content, encode);
}

function headerOf(item: KnownItem): string {
  if (isToolCall(item))
    return `assistant to=${item.namespace === undefined ? '' : `${item.namespace}.`}${item.name}`;
  if (isToolOutput(item)) return 'tool';
  return item.type === 'reasoning' ? 'assistant analysis' : item.role;
}

function opaqueJson(item: OpaqueItem): string {
  return JSON.stringify({
    ...item,
    id: undefined,
    call_id: undefined,
    status: undefined,
    opaque: undefined,
  });
}

/**
 * The tokens of one item (R2). `content` are the tokens of its payload, where the sampler already knows them: the text
 * of a message, the arguments or input of a call, the summary of reasoning. They are taken as they are and nothing but
 * the header is tokenised. Opaque items have no such payload and ignore it. Rejects with the signal's reason.
 */
export function renderItem(
  item: Item,
  tokenizer: Tokenizer,
  signal: AbortSignal,
  content?: Uint32Array,
): Uint32Array | Promise<Uint32Array> {
  const encode: Encode = (text) => tokenizer.encode(text, signal);
  if (isOpaque(item)) return blockOf(item.type, encode(opaqueJson(item)), control.end, tokenizer, signal);
  const close = isToolCall(item) ? control.call : control.end;
  return blockOf(headerOf(item), content ?? payloadTokens(item, encode), close, tokenizer, signal);
}

function isFunctionTool(tool: Tool): tool is FunctionTool {
  return tool.type === 'function';
}
function isCustomTool(tool: Tool): tool is CustomTool {
  return tool.type === 'custom';
}
function isNamespaceTool(tool: Tool): tool is NamespaceTool {
  return tool.type === 'namespace';
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
