/** A rollout of a scenario played in every design over both transports, against a server under test. */
import assert from 'node:assert/strict';

import { o200kTokenizer, VirtualClock } from '../../engine/index.js';
import { Client } from '../../transport/client.js';
import type { RolloutReport } from '../../transport/client-report.js';
import { builtinDesigns, titleOf, type Transport } from '../../transport/designs.js';
import { anonymous } from '../../transport/testing/events.js';
import type { Wire } from '../../transport/testing/wire.js';
import {
  builtinScenarios,
  playRollout,
  rolloutOf,
  rolloutRequests,
  toolOutputs,
  turnsOf,
  type Scenario,
} from '../index.js';
import { scenarioScript } from '../model.js';

const tokenizer = o200kTokenizer(new VirtualClock());

export interface Played {
  readonly report: RolloutReport;
  /** What the server holds at the end, item by item. */
  readonly transcript: unknown[];
  readonly contextTokens: number;
  readonly billed: { readonly uncached_input_tokens: number; readonly output_tokens: number };
  readonly stageRuns: Readonly<
    Record<string, { readonly runs: number; readonly items: number; readonly tokens: number }>
  >;
  /** The contexts of all turns, added up. */
  readonly readTokens: number;
}

/** An item without what a Response mints or a client adds. */
function bare(item: object): object {
  return Object.fromEntries(
    Object.entries(item).filter(([field]) => !['id', 'status', 'annotations', 'logprobs'].includes(field)),
  );
}

/** A design over a transport. */
export interface Spoken {
  readonly design: string;
  readonly transport: Transport;
}

export const spoken = new Map(
  builtinDesigns.flatMap((design) =>
    design.transports.map((transport) => [titleOf(design, transport), { design: design.name, transport }]),
  ),
);

export async function play(
  wire: Wire,
  { design, transport }: Spoken,
  scenario: Scenario,
  index: number,
): Promise<Played> {
  const known = new Map([...builtinScenarios, [scenario.name, scenario]]);
  await using serving = await wire.serve(scenarioScript(known), {
    session: { policy: 'per-conversation' },
    engine: { tokenizer },
  });
  const outputFor = toolOutputs(scenario, 1, index);
  const { lab } = serving;
  await using client = await Client.connect({ url: serving.url, design, transport, checked: true });
  const requests = rolloutRequests(scenario, 1, index).map((request) => ({
    ...request,
    prompt_cache_key: 'conversation',
  }));
  const report = await playRollout(client, requests, {
    tool: async ({ turn, index: number }) => outputFor(turn, number).text,
  });
  const id = report.responseIds.at(-1) ?? '';
  // In the shim a response stands for a turn of a rollout that has an id of its own.
  const response = serving.response(serving.server.host.turns.get(id, 'open')?.rolloutId ?? id);
  await response.settled;
  const items = response.kept.transcript.items().map((item) => JSON.parse(JSON.stringify(item)) as object);
  return {
    report,
    transcript: anonymous(items.map(withoutParts).map(bare)),
    contextTokens: response.kept.transcript.tokens,
    billed: lab.store.billed,
    stageRuns: lab.engine.stageRuns,
    readTokens: lab.model.stats.heldTokens + lab.model.stats.readTokens,
  };
}

/** A message whose content came as one text part is the same as one that came as a string. */
function withoutParts(item: object): object {
  if (!('content' in item) || !Array.isArray(item.content)) return item;
  return { ...item, content: item.content.map((part: { text: string }) => part.text).join('') };
}

/** The report of a client, without times, ids and what differs by design. */
function itemsOf({ report }: Played): unknown[] {
  return anonymous(report.items.map(bare));
}

export async function inEveryDesign(
  wire: Wire,
  scenario: Scenario,
  index: number,
): Promise<Map<string, Played>> {
  const played = new Map<string, Played>();
  for (const [title, one] of spoken) played.set(title, await play(wire, one, scenario, index));
  return played;
}

export function assertEqual(played: ReadonlyMap<string, Played>, scenario: Scenario, index: number): void {
  const append = played.get('append-ws');
  assert.ok(append);
  const turns = turnsOf(rolloutOf(scenario, 1, index)).length;
  for (const [design, one] of played) {
    assert.equal(one.report.status, 'completed', design);
    assert.equal(one.report.turns.length, turns, design);
    assert.deepEqual(one.transcript, append.transcript, design);
    assert.deepEqual(itemsOf(one), itemsOf(append), design);
    assert.equal(one.contextTokens, append.contextTokens, design);
    const { uncached_input_tokens, output_tokens } = one.billed;
    assert.deepEqual(
      { uncached_input_tokens, output_tokens },
      {
        uncached_input_tokens: append.billed.uncached_input_tokens,
        output_tokens: append.billed.output_tokens,
      },
      design,
    );
    const uncached = one.report.turns.reduce(
      (sum, { usage }) => sum + (usage?.input_tokens ?? 0) - (usage?.input_tokens_details.cached_tokens ?? 0),
      0,
    );
    assert.equal(uncached, uncached_input_tokens, `${design}: what the client was told is what is billed`);
    assert.equal(
      one.report.turns.reduce((sum, { usage }) => sum + (usage?.output_tokens ?? 0), 0),
      output_tokens,
      design,
    );
  }
}
