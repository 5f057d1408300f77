import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import type { Item } from './protocol/items.js';
import { assistant, call, entry, output, user } from './samplers/testing/turns.js';
import { Transcript, type Entry } from './transcript.js';

const textsOf = (transcript: Transcript): unknown[] =>
  transcript.items().map((item) => ('content' in item ? item.content : item.type));
const words = (...texts: readonly string[]): Entry[] => texts.map((text) => entry(user(text), text.length));

test('an extension leaves the transcript it began from as it was (T1)', () => {
  const one = Transcript.empty.extend(words('a', 'b'));
  const two = one.extend(words('c'));
  assert.deepEqual(textsOf(one), ['a', 'b']);
  assert.deepEqual(textsOf(two), ['a', 'b', 'c']);
  assert.deepEqual([Transcript.empty.length, Transcript.empty.tokens, Transcript.empty.turns], [0, 0, 0]);
  assert.equal(one.extend([]), one);
});

test('two extensions of one point share what is before it and nothing after it (T2)', () => {
  const trunk = Transcript.empty.extend(words('a', 'b'));
  const left = trunk.extend(words('left'));
  const right = trunk.extend(words('right'));
  assert.deepEqual(textsOf(left), ['a', 'b', 'left']);
  assert.deepEqual(textsOf(right), ['a', 'b', 'right']);
  assert.equal(left.at(0), right.at(0));
  assert.deepEqual(textsOf(left.extend(words('x'))), ['a', 'b', 'left', 'x']);
  assert.deepEqual(textsOf(right.extend(words('y'))), ['a', 'b', 'right', 'y']);
});

test('the transcripts of two conversations that began empty have nothing to do with each other', () => {
  const one = Transcript.empty.extend([entry(call('c1'), 1)]);
  const two = Transcript.empty.extend([entry(call('c2'), 1)]);
  assert.equal(one.call('c2'), null);
  assert.equal(two.call('c1'), null);
});

test('a fork of a fork, from a point before its parent began, sees neither parent nor sibling (T2, T3)', () => {
  const trunk = Transcript.empty.extend([entry(user('a'), 1), entry(call('old'), 1), entry(user('b'), 1)]);
  const fork = trunk.prefix(2).extend([entry(output('old', 'x'), 1), entry(call('fork'), 1)]);
  const deep = fork.prefix(1).extend([entry(call('deep'), 1), entry(user('c'), 1)]);
  assert.deepEqual(deep.items(), [user('a'), call('deep'), user('c')]);
  assert.equal(deep.call('old'), null);
  assert.equal(deep.call('fork'), null);
  assert.equal(deep.output('old'), null);
  assert.deepEqual(deep.call('deep'), call('deep'));
  assert.deepEqual(fork.output('old'), output('old', 'x'));
  assert.equal(trunk.output('old'), null);
});

test('a prefix is the beginning, and can be extended like any other', () => {
  const whole = Transcript.empty.extend(words('a', 'b', 'c'));
  const two = whole.prefix(2);
  assert.deepEqual([two.length, two.tokens], [2, 2]);
  assert.deepEqual(textsOf(two.extend(words('x', 'y'))), ['a', 'b', 'x', 'y']);
  assert.deepEqual(textsOf(whole), ['a', 'b', 'c']);
  assert.deepEqual(textsOf(whole.prefix(0).extend(words('z'))), ['z']);
  assert.equal(whole.prefix(3), whole);
  assert.throws(() => whole.prefix(4), /a prefix of 4 of 3 entries/);
  assert.throws(() => whole.prefix(-1), RangeError);
  assert.throws(() => two.at(2), /entry 2 of 2/);
  assert.throws(() => two.at(-1), RangeError);
});

test('which calls are answered is derived, in call order and per fork (T3)', () => {
  const asked = Transcript.empty.extend([entry(user('go'), 1), entry(call('a'), 1), entry(call('b'), 1)]);
  assert.deepEqual(asked.unanswered(), ['a', 'b']);
  const half = asked.extend([entry(output('b', '2'), 1)]);
  assert.deepEqual(half.unanswered(), ['a']);
  assert.deepEqual(asked.unanswered(), ['a', 'b']);
  assert.deepEqual(half.unanswered(3), []);
  const other = asked.extend([entry(output('a', 'other'), 1)]);
  assert.deepEqual(other.output('a'), output('a', 'other'));
  assert.equal(half.output('a'), null);
  assert.equal(half.call('c'), null);
});

test('opaque kinds open and answer calls by the suffix of their type (T3)', () => {
  const opaqueCall: Item = { type: 'shell_call', call_id: 's', opaque: true };
  const hosted: Item = { type: 'web_search_call', id: 'ws_1', opaque: true };
  const answer: Item = { type: 'shell_call_output', call_id: 's', opaque: true };
  const asked = Transcript.empty.extend([entry(opaqueCall, 1), entry(hosted, 1)]);
  assert.deepEqual(asked.unanswered(), ['s'], 'a hosted call without a call_id waits for nobody');
  assert.deepEqual(asked.extend([entry(answer, 1)]).unanswered(), []);
});

test('turns are runs of what a model wrote, across forks and prefixes', () => {
  const one = Transcript.empty.extend([
    entry(user('hi'), 1),
    entry(assistant('well'), 1),
    entry(call('a'), 1),
  ]);
  const two = one.extend([entry(output('a', 'x'), 1), entry(assistant('done'), 1)]);
  assert.deepEqual([one.turns, two.turns, two.prefix(4).turns, two.prefix(1).turns], [1, 2, 1, 0]);
  assert.equal(one.extend([entry(assistant('more'), 1)]).turns, 1);
  assert.equal(two.prefix(1).extend([entry(assistant('else'), 1)]).turns, 1);
});

test('the cost of a turn does not grow with the history (T2)', () => {
  let transcript = Transcript.empty;
  for (let turn = 0; turn < 100_000; turn++) transcript = transcript.extend(words('x'));
  assert.equal(transcript.length, 100_000);
  assert.equal(transcript.tokens, 100_000);
  assert.equal(transcript.at(0), transcript.prefix(1).at(0));
});

/** What a transcript should be, item by item. */
const sampledTypes = new Set(['assistant', 'call']);
interface Plain {
  readonly kind: string;
  readonly id: string;
  readonly entry: Entry;
}

function plainTurns(plain: readonly Plain[]): number {
  return plain.filter(
    ({ kind }, index) => sampledTypes.has(kind) && !sampledTypes.has(plain[index - 1]?.kind ?? ''),
  ).length;
}

function assertSame(transcript: Transcript, plain: readonly Plain[], ids: Iterable<string>): void {
  assert.equal(transcript.length, plain.length);
  const pairs = (entries: Iterable<Entry>): unknown[] =>
    Array.from(entries, ({ item, tokens }) => [item, tokens]);
  assert.deepEqual(pairs(transcript.entries()), pairs(plain.map((each) => each.entry)));
  assert.equal(
    transcript.tokens,
    plain.reduce((sum, each) => sum + each.entry.tokens.length, 0),
  );
  assert.equal(transcript.turns, plainTurns(plain));
  for (const id of ids)
    for (const kind of ['call', 'output'] as const) {
      const found = plain.find((each) => each.kind === kind && each.id === id);
      assert.equal(transcript[kind](id), found?.entry.item ?? null, `${kind} ${id}`);
    }
  const answered = new Set(plain.filter((each) => each.kind === 'output').map((each) => each.id));
  assert.deepEqual(
    transcript.unanswered(),
    plain.filter((each) => each.kind === 'call' && !answered.has(each.id)).map((each) => each.id),
  );
}

test('any tree of extensions and prefixes agrees with plain arrays (T1, T2, T3)', () => {
  const step = fc.record({
    from: fc.nat(),
    cut: fc.option(fc.nat(), { freq: 2 }),
    kinds: fc.array(fc.constantFrom('user', 'assistant', 'call', 'output'), { minLength: 1, maxLength: 4 }),
    tokens: fc.nat({ max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
      const nodes: { transcript: Transcript; plain: readonly Plain[] }[] = [
        { transcript: Transcript.empty, plain: [] },
      ];
      let serial = 0;
      const ids = new Set<string>();
      for (const { from, cut, kinds, tokens } of steps) {
        const node = nodes[from % nodes.length];
        assert.ok(node !== undefined);
        const length = cut === null ? node.plain.length : cut % (node.plain.length + 1);
        const plain = node.plain.slice(0, length);
        for (const kind of kinds) {
          const open = plain.find(
            (each) =>
              each.kind === 'call' && !plain.some((other) => other.kind === 'output' && other.id === each.id),
          );
          if (kind === 'output' && open === undefined) continue;
          const id = kind === 'output' ? (open?.id ?? '') : `${kind}${serial++}`;
          const item =
            kind === 'user'
              ? user(id)
              : kind === 'assistant'
                ? assistant(id)
                : kind === 'call'
                  ? call(id)
                  : output(id, 'x');
          plain.push({ kind, id, entry: entry(item, tokens) });
          if (kind === 'call') ids.add(id);
        }
        const added = plain.slice(length).map((each) => each.entry);
        nodes.push({ transcript: node.transcript.prefix(length).extend(added), plain });
        for (const { transcript, plain: expected } of nodes) assertSame(transcript, expected, ids);
      }
    }),
    { seed: 7, numRuns: 200, includeErrorInReport: true },
  );
});
