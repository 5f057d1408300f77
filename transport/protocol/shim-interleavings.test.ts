/**
 * The shim under every interleaving of creates, resumes, forks, histories in full, duplicates, drops, deadlines, cancels
 * and the way out, on several lanes and sockets: each response shown has one terminal event, each rollout one post, the
 * model reads everything once, and nothing is left.
 */
import { test } from 'node:test';
import assert from 'node:assert/strict';

import * as fc from 'fast-check';

import { call, message, say, turn } from '../../engine/testing/lab.js';
import type { Script } from '../../engine/samplers/script.js';
import { adapters } from '../testing/adapters.js';
import { Agent, goingOn, historyOf, type Sent, type Shown } from '../testing/agent.js';
import { checkNothingLeft } from '../testing/turns.js';
import { Serving } from '../testing/wire.js';

type Act =
  'create' | 'go on' | 'change' | 'in full' | 'again' | 'drop' | 'wait' | 'abandon' | 'cancel' | 'drain';

interface Step {
  readonly act: Act;
  readonly pick: number;
  readonly lane: string;
  readonly ms: number;
}

const steps = fc.array(
  fc.record<Step>({
    act: fc.oneof(
      { weight: 2, arbitrary: fc.constant<Act>('create') },
      { weight: 8, arbitrary: fc.constant<Act>('go on') },
      { weight: 1, arbitrary: fc.constant<Act>('change') },
      { weight: 5, arbitrary: fc.constant<Act>('in full') },
      { weight: 2, arbitrary: fc.constant<Act>('again') },
      { weight: 3, arbitrary: fc.constant<Act>('drop') },
      { weight: 8, arbitrary: fc.constant<Act>('wait') },
      { weight: 1, arbitrary: fc.constant<Act>('abandon') },
      { weight: 1, arbitrary: fc.constant<Act>('cancel') },
      { weight: 1, arbitrary: fc.constant<Act>('drain') },
    ),
    // Mostly the newest response, on the default lane, when it has ended.
    pick: fc.constantFrom(0, 0, 0, 0, 1, 2, 3, 7),
    lane: fc.constantFrom('', '', '', 'a', 'b'),
    ms: fc.constantFrom(50, 200, 700, 3000, 3000),
  }),
  { minLength: 10, maxLength: 50, size: 'max' },
);

/** Words and calls that never come twice, not even where they are cut after their first token. */
function uniqueScript(): Script {
  let count = 10;
  return ({ context }) => {
    const number = ++count;
    const kind = (context.transcript.length + number) % 4;
    if (kind === 0) return turn(say(`${number} final`));
    if (kind === 1) return turn(call(`one_${number}`), say(`${number} then`));
    return turn(say(`${number} first`), call(`one_${number}`, '{"path":"a"}'), call(`two_${number}`));
  };
}

class Session {
  readonly serving: Serving;
  readonly #agents: Agent[] = [];
  #last: Sent | null = null;
  #messages = 0;
  #drained: Promise<void> | null = null;

  constructor(serving: Serving) {
    this.serving = serving;
  }

  get #agent(): Agent | undefined {
    return this.#agents.at(-1);
  }

  async connect(): Promise<void> {
    if (this.#drained === null) this.#agents.push(new Agent(await this.serving.connect({ design: 'shim' })));
  }

  async take({ act, pick, lane, ms }: Step): Promise<void> {
    const { lab } = this.serving;
    const shown = this.#shown(pick);
    switch (act) {
      case 'create':
        this.#ask(lane, { fields: {}, history: [this.#message()] });
        break;
      case 'go on':
      case 'change':
        if (shown !== null) this.#goOn(lane, shown, act === 'change' ? { temperature: 0.5 } : {});
        break;
      case 'in full':
        if (shown !== null) this.#ask(lane, { fields: {}, history: historyOf(shown) });
        break;
      case 'again':
        if (this.#last !== null) this.#ask(lane, this.#last);
        break;
      case 'drop':
        await this.drop();
        await this.connect();
        break;
      case 'wait':
        await lab.clock.advance(ms);
        break;
      case 'abandon':
        await lab.clock.advance(lab.engine.limits.suspensionMsMax);
        break;
      case 'cancel':
        lab.engine.live()[pick]?.cancel();
        break;
      case 'drain':
        if (pick === 0) this.#drained ??= this.serving.server.drain();
    }
    await this.#settle();
  }

  async drop(): Promise<void> {
    this.#agent?.peer.drop();
    await this.#settle();
  }

  /** Everything that was asked of an open socket is answered. */
  async end(): Promise<void> {
    await this.serving.lab.clock.advance(60_000);
    await this.#settle();
    if (this.#drained === null) assert.equal(this.#agent?.waiting, 0, 'every create is answered');
    await this.drop();
    await this.#drained;
  }

  #shown(pick: number): Shown | null {
    const all = this.#agents.flatMap(({ ended, open }) => [...ended, ...open]);
    return all.at(-1 - pick) ?? null;
  }

  #message(): object {
    return message(`words ${++this.#messages}`);
  }

  #goOn(lane: string, shown: Shown, change: object): void {
    const input = goingOn(shown, `words ${++this.#messages}`);
    const history = [...historyOf(shown).slice(0, -input.length), ...input];
    this.#ask(lane, { fields: { input, previous_response_id: shown.id, ...change }, history });
  }

  #ask(lane: string, sent: Sent): void {
    this.#last = sent;
    const fields = { store: false, prompt_cache_key: 'k', input: sent.history, ...sent.fields };
    this.#agent?.ask(lane, { ...sent, fields });
  }

  async #settle(): Promise<void> {
    await this.serving.lab.settle();
    await this.serving.lab.settle();
    for (const agent of this.#agents) agent.read();
  }
}

function checkPrompts({ lab }: Serving): void {
  for (const { prompt } of lab.turns) {
    const own = prompt.filter((block) => block !== 'tool: aborted');
    assert.equal(new Set(own).size, own.length, `the model reads each item once: ${prompt.join(' | ')}`);
    const calls = prompt.filter((block) => block.startsWith('assistant to=')).length;
    const outputs = prompt.filter((block) => block.startsWith('tool: ')).length;
    assert.equal(outputs, calls, `every call is answered: ${prompt.join(' | ')}`);
  }
}

test('whatever comes in whatever order, every response ends once and every rollout too', async () => {
  const loopback = adapters.find(({ name }) => name === 'loopback');
  assert.ok(loopback);
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const serving = await new Serving(uniqueScript(), {
        decodeTokensPerSecond: 10,
        deltaTokensMax: 1,
        limits: { suspensionMsMax: 20_000, graceMsMax: 10_000 },
      }).start(loopback);
      const session = new Session(serving);
      await session.connect();
      await session.take({ act: 'create', pick: 0, lane: '', ms: 0 });
      for (const step of script) await session.take(step);
      await session.end();
      checkPrompts(serving);
      await checkNothingLeft(serving);
      await serving[Symbol.asyncDispose]();
    }),
    { numRuns: 50 },
  );
});
