/** A socket that stamps frames as they arrive: the same client for our server and for a bare echo. */
import { once } from 'node:events';

import { WebSocket } from 'ws';

/** A frame, and when it arrived (`performance.now()`), before anything was done with it. */
export type OnFrame = (frame: Buffer, at: number) => void;

export class FrameSocket implements AsyncDisposable {
  readonly #socket: WebSocket;
  onFrame: OnFrame = () => undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (frame: Buffer) => this.onFrame(frame, performance.now()));
  }

  /** @throws Error where nobody answers. */
  static async connect(url: string, path: string): Promise<FrameSocket> {
    const socket = new WebSocket(url.replace('http', 'ws') + path, { perMessageDeflate: false });
    await once(socket, 'open');
    return new FrameSocket(socket);
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}
