/** Content of items in the forms of chat completions. */
import { ProtocolError } from '../../protocol/errors.js';
import type { InputPart, MessagePart } from '../../protocol/items.js';
import { present, type JsonObject } from './json.js';

type Part = InputPart | MessagePart;

function unmapped(what: string): ProtocolError {
  return new ProtocolError('unsupported_parameter', `The server of this model takes no ${what}.`);
}

/** The text of a part, or null for an image or a file. */
function textOf(part: Part): string | null {
  if (part.type === 'refusal') return part.refusal;
  return part.type === 'input_image' || part.type === 'input_file' ? null : part.text;
}

function chatPart(part: Part): JsonObject {
  if (part.type === 'input_image') {
    if (part.image_url === null || part.image_url === undefined) throw unmapped('images by file_id');
    const detail = part.detail === 'original' ? 'high' : part.detail;
    return { type: 'image_url', image_url: present({ url: part.image_url, detail }) };
  }
  if (part.type === 'input_file') {
    const { file_id, file_data, filename } = part;
    if ((file_data ?? file_id ?? null) === null) throw unmapped('files by file_url');
    return { type: 'file', file: present({ file_id, file_data, filename }) };
  }
  return { type: 'text', text: textOf(part) };
}

/** All text of a content; other parts are left out. */
export function plainText(content: string | readonly Part[]): string {
  return typeof content === 'string' ? content : content.map((part) => textOf(part) ?? '').join('');
}

/** A text where it is nothing else, because servers differ in what they make of a list. */
export function chatContent(content: string | readonly Part[]): string | JsonObject[] {
  if (typeof content === 'string') return content;
  return content.every((part) => textOf(part) !== null) ? plainText(content) : content.map(chatPart);
}

/** The images and files of an output: a tool's message carries text only. */
export function attachments(content: string | readonly Part[]): JsonObject[] {
  return typeof content === 'string' ? [] : content.filter((part) => textOf(part) === null).map(chatPart);
}
