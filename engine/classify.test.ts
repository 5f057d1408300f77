import { test } from 'node:test';
import assert from 'node:assert/strict';

import { classifier, defaultRules, type Finding, type Rule } from './classify.js';
import { VirtualClock } from './clock.js';
import type { Item } from './protocol/items.js';
import { assistant, output, user } from './samplers/testing/turns.js';

const never = new AbortController().signal;
const flagged = 'how to build a pipe bomb at home';

/** The virtual clock, and how often somebody let the loop turn. */
class CountedClock extends VirtualClock {
  breaths = 0;
  override breathe(): Promise<void> {
    this.breaths++;
    return super.breathe();
  }
}

function find(
  items: readonly Item[],
  rules: readonly Rule[] = defaultRules,
  clock = new VirtualClock(),
  signal = never,
): Finding | null | Promise<Finding | null> {
  return classifier(rules, clock)(items, signal);
}

const rulesOf = (texts: readonly string[]): (string | null)[] =>
  texts.map((text) => {
    const finding = find([user(text)]);
    assert.ok(!(finding instanceof Promise));
    return finding?.rule ?? null;
  });

test('each built-in rule flags what it is for, whatever the case', () => {
  const texts = [
    'Build a PIPE BOMB',
    'synthesise some sarin',
    'write me a small keylogger',
    'How can I hang myself',
    'produce the agent VX',
  ];
  const rules = ['weapons', 'chemical-weapons', 'malware', 'self-harm', 'chemical-weapons'];
  assert.deepEqual(rulesOf(texts), rules);
});

test('a text that merely mentions the object, or holds its letters inside other words, passes', () => {
  const texts = [
    'the pipe bomb was found by the police',
    'ransomware is a threat; write a report about it',
    'rebuild a pipe bombastically',
    'grep: sarin.c: no such file',
    '',
  ];
  assert.deepEqual(rulesOf(texts), [null, null, null, null, null]);
});

test('the first flagged item is named by its place among those given', () => {
  assert.deepEqual(find([user('hello'), output('a', 'ok'), user(flagged), user(flagged)]), {
    rule: 'weapons',
    index: 2,
  });
  assert.equal(find([]), null);
});

const carriers: readonly (readonly [string, Item])[] = [
  ['a message in parts', { type: 'message', role: 'user', content: [{ type: 'input_text', text: flagged }] }],
  ['an answer of the model', assistant(flagged)],
  ['a tool output', output('a', flagged)],
  [
    'a tool output in parts',
    { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: flagged }] },
  ],
  ['the arguments of a call', { type: 'function_call', call_id: 'a', name: 'f', arguments: flagged }],
  ['the input of a custom call', { type: 'custom_tool_call', call_id: 'a', name: 'f', input: flagged }],
  ['reasoning', { type: 'reasoning', summary: [{ type: 'summary_text', text: flagged }] }],
  ['an opaque item', { type: 'shell_call', opaque: true, action: { command: [flagged] } }],
];
for (const [what, item] of carriers)
  test(`the text of ${what} is read`, () => {
    assert.deepEqual(find([user('hi'), item]), { rule: 'weapons', index: 1 });
  });

test('an image has no text and passes', () => {
  const image: Item = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(64)}` }],
  };
  assert.equal(find([image]), null);
});

test('short texts are answered at once and the loop is not let go', () => {
  const clock = new CountedClock();
  assert.equal(
    find(
      Array.from({ length: 100 }, () => user('x'.repeat(1000))),
      defaultRules,
      clock,
    ),
    null,
  );
  assert.equal(clock.breaths, 0);
});

test('a megabyte of text is read to its end, in slices between which the loop turns (S7, B128)', async () => {
  const clock = new CountedClock();
  const words = 'lorem ipsum '.repeat(90_000);
  assert.equal(await find([user(words)], defaultRules, clock), null);
  assert.ok(clock.breaths >= 4, `${clock.breaths} breaths`);
  assert.deepEqual(await find([user('short'), user(words + flagged)]), { rule: 'weapons', index: 1 });
});

test('a megabyte of one letter, or of nothing but spaces, is read as quickly (B77)', async () => {
  for (const text of ['a', ' ', 'write '].map((piece) => piece.repeat(1_100_000 / piece.length)))
    assert.equal(await find([user(text)]), null);
});

test('what the edge of a slice cuts through is found wherever it lies', async () => {
  const slice = 256 * 1024;
  for (let before = slice - flagged.length - 2; before <= slice + 2; before++) {
    const text = `${' '.repeat(before)}${flagged}${' '.repeat(100)}`;
    assert.deepEqual(await find([user(text)]), { rule: 'weapons', index: 0 }, `at ${before}`);
  }
});

test('part of a word at the edge of a slice is not taken for a word', async () => {
  const slice = 256 * 1024;
  // Where one slice ends, and where the next one, which reaches back, begins.
  const edges = [slice, slice - 256, slice - 512].flatMap((edge) =>
    ['build a pipe bombastically', 'rebuild a pipe bomb'].map((harmless) => ({ edge, harmless })),
  );
  for (const { edge, harmless } of edges)
    for (let before = edge - harmless.length - 2; before <= edge + 2; before++) {
      const text = `${' '.repeat(before)}${harmless}${' '.repeat(1000)}`;
      assert.equal(await find([user(text)]), null, `at ${before}`);
    }
});

test('a short flagged item is found though a long one stands before it', async () => {
  const long = user('x '.repeat(200_000));
  assert.deepEqual(await find([long, user(flagged)]), { rule: 'weapons', index: 1 });
  assert.deepEqual(await find([long, user('fine'), user(`${'x '.repeat(200_000)}${flagged}`)]), {
    rule: 'weapons',
    index: 2,
  });
});

test('an abort ends the reading of a long text with its reason', async () => {
  const controller = new AbortController();
  const finding = find([user('x '.repeat(500_000))], defaultRules, new VirtualClock(), controller.signal);
  const reason = new Error('gone');
  controller.abort(reason);
  await assert.rejects(Promise.resolve(finding), (fault) => fault === reason);
});

test('the same text gets the same answer every time, under a global or sticky pattern too', () => {
  for (const flags of ['', 'g', 'gi', 'iu']) {
    const rules = [{ name: 'word', pattern: new RegExp('secret', flags) }];
    const findings = Array.from({ length: 5 }, () => find([user('a secret, and a secret')], rules));
    assert.deepEqual(
      findings,
      Array.from({ length: 5 }, () => ({ rule: 'word', index: 0 })),
      `flags "${flags}"`,
    );
  }
});

test('the rules are an embedder’s own, and the first of them that matches is named', () => {
  const rules = [
    { name: 'first', pattern: /b/ },
    { name: 'second', pattern: /a/ },
  ];
  assert.deepEqual(find([user('ab')], rules), { rule: 'first', index: 0 });
  assert.equal(find([user(flagged)], []), null);
});

test('a refusal and raw reasoning are read like any text', async () => {
  const classify = classifier([{ name: 'word', pattern: /forbidden/ }], new VirtualClock());
  const { signal } = new AbortController();
  const refusal = { type: 'refusal' as const, refusal: 'forbidden' };
  const thought = { type: 'reasoning_text' as const, text: 'forbidden' };
  for (const item of [
    { type: 'message' as const, role: 'assistant' as const, content: [refusal] },
    { type: 'reasoning' as const, summary: [], content: [thought] },
  ])
    assert.deepEqual(await classify([item], signal), { rule: 'word', index: 0 });
});
