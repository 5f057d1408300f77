import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lineOf, TraceDocument, TraceError } from './document.js';
import { complaint } from './testing/reading.js';

const nested = `{
  "a,]}": "an \\"odd\\" {name",
  "list": [
    1, {"x": [true,
      null]},
    [ ],
    {
      "deep": "here"
    }
  ],
  "last": -1.5e3
}`;

test('the line of a value is found by its path, whatever stands in the strings before it', () => {
  for (const [path, line] of [
    [[], 1],
    [['a,]}'], 2],
    [['list', 0], 4],
    [['list', 1, 'x', 1], 5],
    [['list', 2], 6],
    [['list', 3, 'deep'], 8],
    [['last'], 11],
  ] as const)
    assert.equal(lineOf(nested, path), line, path.join('.'));
});

test('a field that is missing is on the line of what should hold it', () => {
  assert.equal(lineOf(nested, ['list', 3, 'none']), 7);
  assert.equal(lineOf(nested, ['list', 9]), 3);
  assert.equal(lineOf(nested, ['list', 2, 0, 'x']), 6);
  assert.equal(lineOf(nested, ['last', 'x']), 11);
  assert.equal(lineOf(nested, ['none']), 1);
});

test('one JSON value, JSON lines, and a single line that is both', () => {
  const whole = new TraceDocument('f', '\uFEFF{\n"a": 1\n}\n');
  assert.deepEqual([whole.value, whole.records], [{ a: 1 }, []]);
  const several = new TraceDocument('f', '{"a":1}\r\n\n{"a":2}\n');
  assert.equal(several.value, undefined);
  assert.deepEqual(several.records, [
    { line: 1, value: { a: 1 } },
    { line: 3, value: { a: 2 } },
  ]);
  const single = new TraceDocument('f', '\n[1]');
  assert.deepEqual([single.value, single.records], [[1], [{ line: 2, value: [1] }]]);
});

test('what is no JSON is refused with the file, the line and a reason', async () => {
  for (const [text, sentence] of [
    ['', /^trace: line 1: expected a trace or a scenario, got an empty file$/],
    [' \n\t', /got an empty file$/],
    [
      'TIME,TOKENS\n1,2\n',
      /^trace: line 1: expected JSON or JSON lines, got text that begins with "TIME,TOKENS"$/,
    ],
    ['\u0000\u0001ELF', /begins with "\\u0000\\u0001ELF"$/],
    ['{\n "a": 1,\n "b": [1, 2', /^trace: line 3: not JSON: /],
    ['{\n "a": 1,\n "b": oops\n}', /^trace: line 3: not JSON: /],
    ['{\n "a": 1,\n "b": "x\n}\n', /^trace: line 3: not JSON: /],
    ['{\n "a": [1,\n ,2]}', /^trace: line 3: not JSON: /],
    ['{\n "a": 1\n}}', /^trace: line 3: not JSON: /],
    ['{"a":1}\n{"a":', /^trace: line 2: expected one JSON object, but the line is not JSON: /],
    [
      '{"timestamp":1,"output_length":5}\n{}\n',
      /^trace: line 1: expected a scenario or a trace \(codex, .*JSON of another kind$/,
    ],
    ['[]', /JSON of another kind$/],
    ['[1, 2]', /JSON of another kind$/],
  ] as const)
    assert.match(await complaint(text), sentence);
});

test('a fault is a TraceError', () => {
  assert.throws(() => new TraceDocument('f', ''), TraceError);
});
