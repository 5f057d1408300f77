/** A command that ends when the test says so: it connects to the test and waits for the end of the connection. */
import { once } from 'node:events';
import { createServer } from 'node:net';

import { Checkpoint } from './checkpoint.js';

export class Gate extends Checkpoint implements AsyncDisposable {
  readonly #server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    void this.arrive().then(() => socket.end());
  });

  static async make(): Promise<Gate> {
    const gate = new Gate();
    gate.#server.listen(0, '127.0.0.1');
    await once(gate.#server, 'listening');
    return gate;
  }

  /** For a POSIX shell. */
  get command(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the gate does not listen');
    return `'${process.execPath}' -e 'require("node:net").connect(${address.port}, "127.0.0.1").resume()'`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.open();
    this.#server.close();
    await closed;
  }
}
