/** The exchanges that `resume` times: with a bare echo, with its floor, and with a rollout. */
import { deferred, trustedServerEventSchema } from '../../engine/index.js';
import type { FrameSocket, OnFrame } from './frames.js';

/** One turn of a rollout: its time to the first token, and what its frames weigh. */
export interface Exchange {
  readonly us: number;
  readonly frameUp: string;
  readonly bytesUp: number;
  /** Up to and including the first token. */
  readonly bytesDown: number;
  readonly framesDown: number;
  /** All frames of the turn. */
  readonly frames: readonly string[];
}

/** Sends a frame; gives the microseconds until the frame `first` of the `all` that come back. */
async function timed(socket: FrameSocket, frame: string, first: number, all: number): Promise<number> {
  const answered = deferred<void>();
  let [frames, firstAt] = [0, 0];
  socket.onFrame = (_, at) => {
    if (++frames === first) firstAt = at;
    if (frames === all) answered.resolve();
  };
  const sentAt = performance.now();
  socket.send(frame);
  await answered.promise;
  return (firstAt - sentAt) * 1000;
}

export function echo(socket: FrameSocket, { bytesUp, bytesDown }: Exchange): Promise<number> {
  return timed(socket, `echo ${bytesDown} `.padEnd(bytesUp, 'x'), 1, 1);
}

/** Says what the floor is to send. */
export function keepFrames(socket: FrameSocket, { frames }: Exchange): void {
  socket.send(`keep [${frames.join(',')}]`);
}

/** Without the time that the floor is told to keep busy. */
export async function floor(socket: FrameSocket, like: Exchange, busyUs: number): Promise<number> {
  const { frameUp, framesDown, frames } = like;
  return (await timed(socket, `floor ${busyUs} ${frameUp}`, framesDown, frames.length)) - busyUs;
}

/** A rollout that hands off at every turn, and what it owes. */
export class Rollout {
  readonly #socket: FrameSocket;
  #responseId = '';
  #owed: readonly string[] = [];

  constructor(socket: FrameSocket) {
    this.#socket = socket;
  }

  async begin(name: string): Promise<void> {
    await this.#turn({ type: 'response.create', model: 'calls', input: 'go', metadata: { rollout: name } });
  }

  append(output: string): Promise<Exchange> {
    const input = this.#owed.map((call_id) => ({ type: 'function_call_output', call_id, output }));
    return this.#turn({ type: 'response.append', response_id: this.#responseId, input });
  }

  /**
   * Sends an event and waits for the next hand-off. Frames are read when all that arrived with them have been stamped:
   * read as they come, those before the token would delay its stamp, and this client's work would count as the server's.
   */
  async #turn(event: object): Promise<Exchange> {
    const frameUp = JSON.stringify(event);
    const handedOff = deferred<void>();
    const frames: string[] = [];
    let [firstTokenAt, bytesDown, framesDown] = [0, 0, 0];
    this.#socket.onFrame = (raw, at) => {
      setImmediate(read, raw, at);
    };
    const read: OnFrame = (raw, at) => {
      const frame = raw.toString();
      frames.push(frame);
      const received = trustedServerEventSchema.parse(JSON.parse(frame));
      if (firstTokenAt === 0) {
        bytesDown += raw.length;
        framesDown++;
        if ('delta' in received) firstTokenAt = at;
      }
      if (received.type === 'response.created') this.#responseId = received.response.id;
      if (received.type === 'error' || received.type === 'response.append.failed')
        handedOff.reject(new Error(received.error.message));
      if (received.type !== 'response.done') return;
      this.#owed = received.required_input.map(({ call_id }) => call_id);
      handedOff.resolve();
    };
    const sentAt = performance.now();
    this.#socket.send(frameUp);
    await handedOff.promise;
    const us = (firstTokenAt - sentAt) * 1000;
    return { us, frameUp, bytesUp: Buffer.byteLength(frameUp), bytesDown, framesDown, frames };
  }
}
