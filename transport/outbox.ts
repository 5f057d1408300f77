/**
 * What goes out on one socket or stream: events of its own (errors, acknowledgements) and feeds that follow Responses.
 *
 *   O1  All that is ready in one turn of the event loop leaves in one write: a frame sent alone costs a system call. The
 *       first token of such a turn goes ahead with what stands before it: somebody waits for it, and what the loop does
 *       with the rest of an instant turn would come before it.
 *   O2  Nothing is read from a log while the socket's buffer is full, and one write reads no more than fills it, so a
 *       slow client lags in the log (S6), and only itself. A socket that stays full for `drainMsMax`, whose place in the
 *       log is gone, or that earns more than `frameBytesMax` of answers while it is full, is closed with 1013.
 *   O3  One waiter per socket, and none after the close.
 */
import type { Clock, Limits, LiveResponse } from '../engine/index.js';
import { ProtocolError } from '../engine/index.js';
import type { Put } from './frames.js';
import type { Stream } from './socket.js';
import type { View } from './view.js';

/** Entries read from one log before the next feed gets its turn. */
const batchEntries = 256;

const nothing = (): void => undefined;

const resolved = Promise.resolve();

const tooSlow = 'the client reads too slowly';

/** One view as a socket follows it. */
export class Feed {
  readonly view: View;
  readonly onEnd: () => void;
  /** Number of the next entry to send. */
  next: number;
  leave: () => void = nothing;

  constructor(view: View, onEnd: () => void) {
    this.view = view;
    this.next = view.first;
    this.onEnd = onEnd;
  }

  get response(): LiveResponse {
    return this.view.response;
  }

  /** Nothing comes any more. */
  get ended(): boolean {
    return this.view.over || this.response.endsAt(this.next - 1);
  }
}

export interface OutboxParts {
  readonly socket: Pick<Stream, 'send' | 'drained'>;
  /** An event as the text that is sent. */
  readonly wrap: (type: string, json: string) => string;
  readonly clock: Clock;
  readonly limits: Limits;
  /** Closes the session's socket. */
  readonly close: (code: number, reason: string) => void;
  readonly sent: (frames: number, characters: number) => void;
}

export class Outbox {
  readonly #parts: OutboxParts;
  #own: string[] = [];
  #ownCharacters = 0;
  readonly #feeds = new Set<Feed>();
  #ready = new Set<Feed>();
  #scheduled = false;
  /** A token has been written ahead in this turn of the loop. */
  #led = false;
  #full = false;
  #closed = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** An event of the session's own. */
  send(type: string, json: string): void {
    if (this.#closed) return;
    const frame = this.#parts.wrap(type, json);
    this.#own.push(frame);
    this.#ownCharacters += frame.length;
    const { limits, close } = this.#parts;
    if (this.#full) {
      if (this.#ownCharacters > limits.frameBytesMax) close(1013, tooSlow);
    } else if (this.#ownCharacters > limits.sendBufferBytesMax) this.#write();
    else this.#schedule();
  }

  follow(feed: Feed): void {
    feed.view.begin((type, json) => this.send(type, json));
    this.#feeds.add(feed);
    this.#await(feed);
  }

  unfollow(feed: Feed): void {
    feed.leave();
    this.#feeds.delete(feed);
    this.#ready.delete(feed);
  }

  /** Sends what there is at once: before a close of our own. */
  flush(): void {
    for (const feed of this.#feeds) this.#ready.add(feed);
    while (!this.#full && !this.#closed && (this.#own.length > 0 || this.#ready.size > 0)) this.#write();
  }

  /** The socket has closed: nothing is sent or waited for any more. */
  end(): void {
    this.#closed = true;
    this.#takeOwn();
    for (const feed of this.#feeds) this.unfollow(feed);
  }

  #await(feed: Feed): void {
    feed.leave(); // A flush reads feeds that still wait.
    feed.leave = nothing;
    // Not by way of `whenBeyond`, which calls back before it gives the way out of the wait that the callback begins.
    if (feed.ended || feed.response.lastNumber >= feed.next) this.#grown(feed);
    else feed.leave = feed.response.whenBeyond(feed.next, () => this.#grown(feed));
  }

  /** A feed has something to send. Until a token has led the way, the feed is watched further for one. */
  #grown(feed: Feed): void {
    this.#ready.add(feed);
    this.#schedule();
    if (this.#led || this.#full || this.#closed) return;
    if (feed.response.newestIsToken) this.#lead();
    else if (!feed.response.endsAt(feed.response.lastNumber))
      feed.leave = feed.response.whenBeyond(feed.response.lastNumber + 1, () => this.#grown(feed));
  }

  /** Writes ahead, once in a turn of the loop. A microtask later, because a log may not be read while it is written to. */
  #lead(): void {
    this.#led = true;
    // Cheaper than `queueMicrotask`, which makes a resource for the hooks of others.
    void resolved.then(() => {
      if (!this.#closed && !this.#full) this.#write();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#full || this.#closed) return;
    this.#scheduled = true;
    // After the callbacks and promises of this turn of the loop, so that their frames leave together (O1).
    setImmediate(() => {
      this.#scheduled = false;
      this.#led = false;
      if (!this.#closed && !this.#full) this.#write();
    });
  }

  #write(): void {
    let room = this.#parts.limits.sendBufferBytesMax - this.#ownCharacters;
    const frames = this.#takeOwn();
    const ended: Feed[] = [];
    let placeGone = false;
    // A feed with more to send than there is room for is ready again at once; it belongs to the next write.
    const ready = this.#ready;
    this.#ready = new Set();
    for (const feed of ready) {
      const read = room > 0 ? this.#read(feed, frames, room) : 0;
      if (read === null) placeGone = true;
      else {
        room -= read;
        if (feed.ended) ended.push(feed);
        else this.#await(feed);
      }
    }
    if (frames.length > 0) this.#put(frames);
    for (const feed of ended) {
      this.unfollow(feed); // Its log may go on, for another feed.
      feed.onEnd();
    }
    if (placeGone) this.#parts.close(1013, tooSlow);
  }

  /** Adds a feed's new frames while there is room. Gives their characters, or null where its place in the log is gone. */
  #read(feed: Feed, frames: string[], room: number): number | null {
    let characters = 0;
    const put: Put = (type, json) => {
      const frame = this.#parts.wrap(type, json);
      frames.push(frame);
      characters += frame.length;
    };
    try {
      for (const entry of feed.response.entries(feed.next, batchEntries)) {
        feed.view.show(entry, feed.next++, put);
        if (characters >= room || feed.view.over) break;
      }
      return characters;
    } catch (fault) {
      if (!(fault instanceof ProtocolError)) throw fault;
      return null;
    }
  }

  #takeOwn(): string[] {
    const frames = this.#own;
    this.#own = [];
    this.#ownCharacters = 0;
    return frames;
  }

  #put(frames: readonly string[]): void {
    this.#parts.sent(
      frames.length,
      frames.reduce((sum, frame) => sum + frame.length, 0),
    );
    if (this.#parts.socket.send(frames)) return;
    this.#full = true;
    void this.#drain();
  }

  async #drain(): Promise<void> {
    const { socket, clock, limits, close } = this.#parts;
    using _deadline = clock.after(limits.drainMsMax, () => close(1013, tooSlow));
    await socket.drained();
    this.#full = false;
    if (this.#own.length > 0 || this.#ready.size > 0) this.#schedule();
  }
}
