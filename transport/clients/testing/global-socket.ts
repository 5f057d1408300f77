/** The global WebSocket that some clients want and Node 20 lacks. */
import assert from 'node:assert/strict';
import { once } from 'node:events';

import { WebSocket } from 'ws';

import type { Service } from './service.js';

class GlobalWebSocket extends WebSocket {
  static readonly all: WebSocket[] = [];

  constructor(...args: ConstructorParameters<typeof WebSocket>) {
    super(...args);
    GlobalWebSocket.all.push(this);
  }
}

Object.assign(globalThis, { WebSocket: GlobalWebSocket });

/** Limits of a server whose sockets grow old before anything else does. */
export const shortLived = { engine: { limits: { socketAgeMsMax: 60_000 } } };

/** Lets the newest socket reach its age. Resolves when its client knows that the server has closed it. */
export async function grownOld({ lab }: Service): Promise<void> {
  const newest = GlobalWebSocket.all.at(-1);
  assert.ok(newest);
  const closed = once(newest, 'close');
  await lab.clock.advance(shortLived.engine.limits.socketAgeMsMax);
  const [code] = await closed;
  assert.equal(code, 1001);
}
