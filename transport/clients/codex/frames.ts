/** Reads what passes: the text frames of one direction of a WebSocket without compression, or server-sent events. */
import { StringDecoder } from 'node:string_decoder';

const textOpcode = 1;
const controlOpcodes = 8;

interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
  /** Bytes of the whole frame. */
  readonly length: number;
}

/** The frame at the start of the bytes, or null where it is not complete yet. */
function frameIn(bytes: Buffer): Frame | null {
  if (bytes.length < 2) return null;
  const first = bytes.readUInt8(0);
  const second = bytes.readUInt8(1);
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const maskAt = 2 + lengthBytes;
  const masked = (second & 0x80) !== 0;
  const payloadAt = maskAt + (masked ? 4 : 0);
  if (bytes.length < payloadAt) return null;
  const payloadBytes =
    lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const length = payloadAt + payloadBytes;
  if (bytes.length < length) return null;
  const payload = Buffer.from(bytes.subarray(payloadAt, length));
  if (masked)
    for (let index = 0; index < payload.length; index++)
      payload.writeUInt8(payload.readUInt8(index) ^ bytes.readUInt8(maskAt + (index % 4)), index);
  return { final: (first & 0x80) !== 0, opcode: first & 0x0f, payload, length };
}

export class FrameReader {
  #bytes = Buffer.alloc(0);
  #parts: Buffer[] = [];
  readonly #onText: (text: string) => void;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (let frame = frameIn(this.#bytes); frame !== null; frame = frameIn(this.#bytes)) {
      this.#bytes = this.#bytes.subarray(frame.length);
      if (frame.opcode < controlOpcodes) this.#take(frame);
    }
  }

  #take({ final, opcode, payload }: Frame): void {
    if (opcode > textOpcode) throw new Error('a binary frame passed');
    this.#parts.push(payload);
    if (!final) return;
    this.#onText(Buffer.concat(this.#parts).toString());
    this.#parts = [];
  }
}

/** An event has one `data` line here, as this server writes it. */
export class StreamReader {
  readonly #decoder = new StringDecoder();
  #rest = '';
  readonly #onText: (text: string) => void;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: {')) this.#onText(line.slice('data: '.length));
  }
}
