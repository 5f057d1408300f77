import { test } from 'node:test';
import assert from 'node:assert/strict';

import { print } from './probe.js';

test('where there are no namespaces the probe says so, and shows the relay', () => {
  const text = print({
    rtt_ms: 50,
    rows: [
      {
        path: 'relay',
        bytes: 2000,
        connection: 'kept',
        gap_ms: 3000,
        took_ms: { median: 50.4, interval: null, values: 3 },
        model_ms: 50,
      },
    ],
    unavailable: 'Network namespaces need root.',
  });
  assert.match(text, /Network namespaces need root\. What follows is the relay/);
  assert.match(text, /2 KB, kept, 3000 ms idle .* 50\.4 \(50\)/);
});
