import assert from 'node:assert/strict';

import { message, say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import { overEveryWire } from '../testing/wire.js';

const awkward = 'a\rb\nc\r\nd\u0085e\u2028f\u2029g 🦊 data: h\n\nevent: i\u0000\ud800 \u000b\u000c\u001c"\\';

const lineEnd = new RegExp(String.raw`\r\n|[\n\v\f\x1c\x1d\x1e\x85\u2028\u2029]|\r(?!$)`);

/** A reader of lines that takes everything for a line end that anybody takes for one, fed piece by piece. */
class LineReader {
  readonly lines: string[] = [];
  readonly #decoder = new TextDecoder();
  #rest = '';

  read(bytes: Uint8Array): void {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a line end.
    const whole = text.split(lineEnd);
    this.#rest = whole.pop() ?? '';
    this.lines.push(...whole);
  }

  get rest(): string {
    return this.#rest;
  }
}

for (const design of ['append', 'chain', 'shim'])
  overEveryWire(
    `${design}: cut anywhere our bytes are the same lines, one of data for an event, and a blank one at the end (B74)`,
    async (wire) => {
      await using serving = await wire.serve([turn(say(awkward))]);
      const events = await serving.http({ design }).stream({ input: [message(awkward)] });
      const taken = await events.rest();
      const said = awkward.replace('\ud800', '\ufffd');
      const text = ofType(taken, 'response.output_text.done')[0]?.text;
      assert.ok(text === awkward || text === said);
      const bytes = Buffer.from(events.stream.chunks.received.join(''));
      for (let length = 1; length <= 7; length++) {
        const reader = new LineReader();
        for (let at = 0; at < bytes.length; at += length) reader.read(bytes.subarray(at, at + length));
        assert.equal(reader.rest, '', 'the last line has an end');
        assert.deepEqual(reader.lines.slice(-2), ['data: [DONE]', '']);
        const blocks = reader.lines.slice(0, -2);
        assert.equal(blocks.length, taken.length * 3);
        taken.forEach((event, index) => {
          const [name, data = '', blank] = blocks.slice(index * 3);
          assert.deepEqual([name, blank], [`event: ${event.type}`, '']);
          assert.deepEqual(JSON.parse(data.replace(/^data: /, '')), event);
        });
      }
    },
  );
