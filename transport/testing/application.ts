/** An application that records what reaches it, for tests of what carries bytes. */
import { Arrivals } from '../loopback.js';
import type { Answer, Application, Exchange, Handshake, Socket } from '../socket.js';

/** One socket as the application saw it. */
export class Opening {
  readonly socket: Socket;
  readonly handshake: Handshake;
  readonly frames = new Arrivals<string | null>();
  /** The codes the closed callback was given: one, if all is well. */
  readonly codes = new Arrivals<number>();

  constructor(socket: Socket, handshake: Handshake) {
    this.socket = socket;
    this.handshake = handshake;
    socket.onFrame = (text) => this.frames.add(text);
  }
}

/** Lets every upgrade in, answers 404, records all; a test replaces what it is about. */
export class TApplication implements Application {
  readonly openings = new Arrivals<Opening>();
  readonly faults: unknown[] = [];
  admit = (_handshake: Handshake): Answer | null => null;
  answer = (_exchange: Exchange): Answer | Promise<Answer> => ({
    status: 404,
    contentType: 'text/plain',
    body: '',
  });
  begin = (_opening: Opening): void => {};

  opened(socket: Socket, handshake: Handshake): (code: number) => void {
    const opening = new Opening(socket, handshake);
    this.begin(opening);
    this.openings.add(opening);
    return (code) => opening.codes.add(code);
  }

  failed(fault: unknown): void {
    this.faults.push(fault);
  }
}

/** One turn of the event loop: all that could already happen has happened. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
