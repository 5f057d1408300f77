/** Names, addresses, custom inputs and the words of faults. */
import { inspect } from 'node:util';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import * as fc from 'fast-check';

import { systemClock } from '../../clock.js';
import { CustomInput } from './custom-input.js';
import { endpointOf } from './endpoint.js';
import { scrubbed } from './faults.js';
import { ToolNames } from './names.js';
import { upstreamSampler } from './upstream.js';

test('the API is read from the end of the path, else it is the one asked for, else chat', () => {
  for (const [url, asked, api, path] of [
    ['http://h/v1', undefined, 'chat', '/v1/chat/completions'],
    ['http://h/v1/', 'responses', 'responses', '/v1/responses'],
    ['http://h/v1/responses', undefined, 'responses', '/v1/responses'],
    ['https://h/x/chat/completions?api-version=1', undefined, 'chat', '/x/chat/completions?api-version=1'],
    ['http://h', undefined, 'chat', '/chat/completions'],
  ] as const) {
    const endpoint = endpointOf(url, asked);
    assert.deepEqual([endpoint.api, endpoint.path], [api, path]);
  }
  assert.equal(endpointOf('https://api.openai.com/v1', undefined).host, 'openai');
  assert.equal(endpointOf('https://me.openai.azure.com/openai/v1', undefined).host, 'openai');
  assert.equal(endpointOf('https://notopenai.com/v1', undefined).host, 'other');
  assert.equal(endpointOf('http://localhost:11434/v1', undefined).host, 'loopback');
});

test('addresses, keys and bounds that can’t be are refused without being repeated', () => {
  const clock = systemClock;
  for (const options of [
    { url: 'hush' },
    { url: 'ftp://hush/v1' },
    { url: 'http://user:hush@h/v1' },
    { url: 'http://hush/v1/responses', api: 'chat' as const },
    { url: 'http://h/v1', key: 'hush hush' },
    { url: 'http://h/v1', silenceMsMax: 0 },
    { url: 'http://h/v1', retriesMax: Number.NaN },
  ])
    assert.throws(
      () => upstreamSampler({ clock, ...options }),
      (fault) => fault instanceof RangeError && !fault.message.includes('hush'),
    );
});

test('a key is nowhere to be seen in the sampler', async () => {
  await using sampler = upstreamSampler({ url: 'http://h/v1', key: 'sk-hush', clock: systemClock });
  assert.ok(!inspect(sampler, { depth: 10, showHidden: true }).includes('hush'));
});

test('names come back as they were, and fit the rule of the API', () => {
  const names = new ToolNames();
  const calls = [
    { type: 'function_call', name: 'ls' },
    { type: 'function_call', name: 'ls', namespace: 'fs' },
    { type: 'function_call', name: 'fs__ls' },
    { type: 'custom_tool_call', name: 'ls' },
    { type: 'function_call', name: 'a.b', namespace: 'mcp.server' },
    { type: 'function_call', name: 'a_b', namespace: 'mcp_server' },
    { type: 'function_call', name: 'x'.repeat(128) },
    { type: 'function_call', name: `${'x'.repeat(127)}y` },
  ] as const;
  const wired = calls.map((call) => names.wire(call));
  assert.equal(new Set(wired).size, calls.length);
  for (const [index, wire] of wired.entries()) {
    assert.match(wire, /^[\w-]{1,64}$/);
    assert.deepEqual(names.read(wire), calls[index]);
    assert.equal(names.wire(calls[index] ?? assert.fail()), wire);
  }
  assert.deepEqual(wired.slice(0, 2), ['ls', 'fs__ls']);
  assert.deepEqual(names.read('unheard'), { type: 'function_call', name: 'unheard' });
});

test('a custom input is read out of its arguments however they are cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(40)), fc.boolean(), (input, cuts, ascii) => {
      let json = JSON.stringify({ input });
      if (ascii)
        json = json.replaceAll(
          /[\u007f-\uffff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
      const reader = new CustomInput();
      let text = '';
      let at = 0;
      for (const cut of cuts) text += reader.add(json.slice(at, (at += cut)));
      text += reader.add(json.slice(at)) + reader.finish();
      assert.equal(text, input);
    }),
  );
});

test('a custom input in another form is taken as it is, and bare line breaks are', () => {
  const whole = (json: string) => {
    const reader = new CustomInput();
    return reader.add(json) + reader.finish();
  };
  assert.equal(whole('{"input":"a\nb"}'), 'a\nb');
  assert.equal(whole('{"other":1,"input":"a"}'), 'a');
  assert.equal(whole('just text'), 'just text');
  assert.equal(whole('{"input":"cut of'), 'cut of');
  assert.equal(whole(''), '');
});

test('no address, key, path or stack trace is left in the words of an upstream (P67)', () => {
  for (const [said, told] of [
    ['Bad value at https://host/x?key=1 here', 'Bad value at … here'],
    ['Key sk-proj-abcdef0123 is wrong', 'Key … is wrong'],
    ['Authorization: Bearer abc.def failed', 'Authorization: … failed'],
    ['No connection to 10.0.0.7:8000', 'No connection to …'],
    ['File /usr/lib/python3/vllm.py broke', 'File … broke'],
    [String.raw`File C:\models\x.gguf broke`, 'File … broke'],
    ['Bad\n  at foo (/x/y.js:1:2)', 'Bad'],
    ['Use and/or, 1.5 or 2/3; top_p must be <= 1', 'Use and/or, 1.5 or 2/3; top_p must be <= 1'],
  ] as const)
    assert.equal(scrubbed(said), told);
  assert.equal(scrubbed('word '.repeat(200)).length, 301);
});
