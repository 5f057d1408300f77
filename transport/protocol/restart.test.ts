import assert from 'node:assert/strict';

import { WebSocket } from 'ws';

import { call, output, say, turn } from '../../engine/testing/lab.js';
import { ofType } from '../testing/events.js';
import { overEveryNetwork, overEveryWire } from '../testing/wire.js';

const script = [turn(call('ls')), turn(say('done'))];

overEveryWire(
  'after a restart a suspended Response is gone, and whoever asks for it is told (B25)',
  async (wire) => {
    let id = '';
    let callId: string | undefined;
    {
      await using before = await wire.serve(script);
      const peer = await before.connect();
      id = await peer.create();
      callId = (await peer.until('response.done')).required_input[0]?.call_id;
    }
    await using serving = await wire.serve(script);
    const answer = output(callId, 'x');
    await using peer = await serving.connect();
    peer.append(id, answer);
    assert.equal((await peer.until('response.append.failed')).error.code, 'response_not_found');
    peer.attach(id);
    assert.equal((await peer.until('error')).error.code, 'response_not_found');
    const told = await serving.http({ design: 'append' }).append(id, answer);
    assert.deepEqual([told.status, told.error.code], [404, 'response_not_found']);
    for (const design of ['chain', 'shim']) {
      const { error } = await serving.http({ design }).create({ previous_response_id: id, input: [answer] });
      assert.equal(error.code, 'previous_response_not_found');
    }
    assert.equal(serving.lab.turns.length, 0, 'nothing was begun by any of it');
  },
);

overEveryNetwork(
  'compression that is offered is not taken up, and the socket works without it (P10)',
  async (wire) => {
    await using serving = await wire.serve(script);
    const socket = new WebSocket(`${serving.url.replace('http', 'ws')}/v1/responses`, {
      perMessageDeflate: true,
    });
    const frames: string[] = [];
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('open', () =>
        socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi' })),
      );
      socket.on('message', (frame: Buffer) => {
        frames.push(frame.toString());
        if (frames.at(-1)?.includes('response.completed')) resolve();
      });
    });
    assert.equal(socket.extensions, '');
    assert.equal(
      ofType(
        frames.map((frame) => JSON.parse(frame)),
        'response.created',
      ).length,
      1,
    );
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.close();
    await closed;
  },
);
