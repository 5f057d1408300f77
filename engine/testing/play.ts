/**
 * One rollout in a random world, and a client that answers, contradicts, leaves and comes back. Time is virtual, so a
 * play is played again by its seed.
 */
import assert from 'node:assert/strict';

import type { LiveResponse } from '../live-response.js';
import type { LogEntry } from '../log-entry.js';
import { ProtocolError } from '../protocol/errors.js';
import type { ServerEvent } from '../protocol/server-events.js';
import type { Stage } from '../stages.js';
import { Lab, message, output, unitTokenizer } from './lab.js';
import { scripted, type Act, type World } from './worlds.js';

/** A session's way to read: it takes what there is when it is called, and may leave at any time. */
export class Reader {
  readonly from: number;
  readonly events: ServerEvent[] = [];
  readonly entries: LogEntry[] = [];
  readonly #response: LiveResponse;
  readonly #notice: (entry: LogEntry) => void;
  #leave: () => void = () => undefined;

  constructor(response: LiveResponse, from: number, notice: (entry: LogEntry) => void = () => undefined) {
    this.#response = response;
    this.from = from;
    this.#notice = notice;
    this.come();
  }

  get next(): number {
    return this.from + this.events.length;
  }

  come(): void {
    for (const entry of this.#response.entries(this.next)) {
      this.events.push(this.#response.event(entry, this.next));
      this.entries.push(entry);
      this.#notice(entry);
    }
    if (!this.#response.endsAt(this.next - 1))
      this.#leave = this.#response.whenBeyond(this.next, () => this.come());
  }

  leave(): void {
    this.#leave();
  }
}

export interface Sent {
  readonly input: readonly Record<string, unknown>[];
  readonly result: Promise<'accepted' | ProtocolError>;
}

/** One rollout in one world, and a client that acts on it. */
export class Play {
  readonly lab: Lab;
  readonly signals: AbortSignal[] = [];
  readonly readers: Reader[] = [];
  readonly sent: Sent[] = [];
  readonly #world: World;
  #count = 0;
  response: LiveResponse | null = null;

  constructor(world: World) {
    this.#world = world;
    const turnOf = scripted(world);
    const traits = { phases: ['pre'], reads: 'new', refuses: false, critical: true } as const;
    const spy: Stage = {
      ...traits,
      name: 'spy',
      run: (passage) => void this.signals.push(passage.signal),
    };
    this.lab = new Lab(({ turn }) => turnOf(turn - 1), {
      decodeTokensPerSecond: world.tokensPerSecond,
      engine: {
        limits: world.limits,
        stages: (standard) => [spy, ...standard, ...this.#faulty()],
        tokenizer: {
          encode: (text, signal) => {
            const tokens = unitTokenizer.encode(text, signal);
            return text.includes('slow') ? this.lab.clock.sleep(30, signal).then(() => tokens) : tokens;
          },
        },
      },
    });
  }

  #faulty(): Stage[] {
    const fault = this.#world.stageFault;
    if (fault === null) return [];
    const { phase, kind } = fault;
    let runs = 0;
    const run: Stage['run'] = ({ signal }) => {
      if (phase === 'append' && runs++ % 2 === 1) return;
      if (kind === 'throws') throw new Error('the stage broke');
      if (kind === 'refuses') throw new ProtocolError('invalid_prompt', 'flagged');
      // A deaf stage would hold a create for ever: nothing bounds what comes before admission.
      if (kind === 'is deaf' && phase !== 'pre') return new Promise(() => undefined);
      return this.lab.clock.sleep(40, signal);
    };
    const late = phase === 'late';
    return [
      { name: 'faulty', phases: [late ? 'post' : phase], reads: 'new', refuses: !late, critical: !late, run },
    ];
  }

  async begin(): Promise<LiveResponse | null> {
    const request = this.#world.warmUp
      ? { model: 'scripted', generate: false }
      : { model: 'scripted', input: 'hi' };
    const begun = this.lab.engine.create(request).then((response) => {
      this.response = response;
      // At once: what is dropped later, it has read.
      this.readers.push(new Reader(response, 0, (entry) => this.#notice(response, entry)));
    });
    try {
      if (this.#world.stageFault?.phase === 'pre') await this.lab.clock.runUntil(begun);
      else await begun;
    } catch (fault) {
      const { stageFault } = this.#world;
      assert.ok(stageFault?.phase === 'pre' && stageFault.kind !== 'is slow', String(fault));
    }
    return this.response;
  }

  #notice(response: LiveResponse, entry: LogEntry): void {
    const { eager } = this.#world;
    if (eager === null || entry.type !== `response.output_item.${eager.at}`) return;
    void (async () => {
      for (let tick = 0; tick < eager.ticks; tick++) await Promise.resolve();
      if (!eager.says) await this.act(response, { does: 'answer', pick: 0 });
      else if (this.sent.length < 3) await this.act(response, { does: 'say', pick: 1 });
    })();
  }

  /** Calls announced so far, in call order. */
  get calls(): { readonly type: string; readonly call_id: string }[] {
    return (this.readers[0]?.entries ?? []).flatMap((entry) => {
      const callId = entry.type === 'response.output_item.added' ? entry.item['call_id'] : null;
      return typeof callId === 'string' && 'item' in entry
        ? [{ type: entry.item.type, call_id: callId }]
        : [];
    });
  }

  async act(response: LiveResponse, { does, pick }: Act): Promise<void> {
    const answered = new Set(this.sent.flatMap(({ input }) => input.map((item) => item['call_id'])));
    const open = this.calls.filter(({ call_id }) => !answered.has(call_id));
    const answers = open
      .filter((_, index) => ((pick >> index) & 1) === 0 || open.length === 1)
      .map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: this.#words(pick) }));
    // A message alone that is sent again is a second message, so only what holds an answer is sent again.
    const withAnswers = this.sent.filter(({ input }) => input.some((item) => 'call_id' in item));
    const earlier = withAnswers[pick % withAnswers.length]?.input ?? [];
    const reader = this.readers[1 + (pick % Math.max(this.readers.length - 1, 1))];
    switch (does) {
      case 'answer':
        return this.#send(response, answers.toReversed());
      case 'answer and say':
        return this.#send(response, [message(this.#words(pick)), ...answers]);
      case 'say':
        return this.#send(response, [message(this.#words(pick))]);
      case 'resend':
        return this.#send(response, earlier);
      case 'contradict':
        return this.#send(
          response,
          earlier.map((item) => ('call_id' in item ? { ...item, output: this.#words(0) } : item)),
        );
      case 'stray':
        return this.#send(response, [...answers, output('call_none', 'x')]);
      case 'malform':
        return this.#send(response, [...answers, { type: 'function_call_output', call_id: 7 }]);
      case 'time':
        return this.lab.clock.advance(pick * 4);
      case 'settle':
        return this.lab.settle();
      case 'ticks':
        for (let tick = 0; tick < pick; tick++) await Promise.resolve();
        return;
      case 'cancel':
        if (pick % 8 === 0) response.cancel(pick % 16 === 0 ? 'cancelled' : 'disconnected');
        return;
      case 'read':
        return this.#read(response, pick % (response.lastNumber + 2));
      case 'leave':
        return reader?.leave();
      case 'come back':
        if (reader !== undefined) this.#read(response, reader.next);
    }
  }

  #words(pick: number): string {
    return `${pick % 5 === 0 ? 'slow' : 'quick'} words ${this.#count++}`;
  }

  #send(response: LiveResponse, input: readonly Record<string, unknown>[]): void {
    if (input.length === 0) return;
    const result = response.append(input).then(
      () => 'accepted' as const,
      (fault: unknown) => {
        assert.ok(fault instanceof ProtocolError || /stage broke/.test(String(fault)), String(fault));
        return fault instanceof ProtocolError ? fault : new ProtocolError('server_error', 'the stage broke');
      },
    );
    this.sent.push({ input, result });
  }

  #read(response: LiveResponse, from: number): void {
    try {
      this.readers.push(new Reader(response, from));
    } catch (fault) {
      assert.ok(fault instanceof ProtocolError && fault.code === 'replay_expired', String(fault));
      assert.ok(this.#world.limits.logBytesMax < 2 ** 22, 'a kept number is read again');
    }
  }
}
