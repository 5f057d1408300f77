/** Traces beside a result: a rollout of each design in virtual time, which the waterfall is drawn from, and a measured block. */
import { builtinProfiles } from '../service/profile.js';
import { virtualArm } from '../virtual/arm.js';
import { playVirtual } from '../virtual/rollout.js';
import { Spans } from '../virtual/spans.js';
import { tracedScenario } from './cells.js';
import { fileNames } from './result-files.js';
import type { Store } from './store.js';
import { chromeTrace, otlpTrace, spansOfTurns, type TracedCell } from './trace.js';
import { cellAt } from './virtual-sections.js';

const tracedArms = ['replay-http', 'chain-http', 'chain-ws', 'chain-ws ahead', 'append-ws'] as const;

/** Played in virtual time: a real client cannot tell the network's share of a wait from the server's. */
export async function writeTraces(store: Store, seed: number): Promise<void> {
  const profile = builtinProfiles.get('hosted');
  if (profile === undefined) throw new Error('there is no profile "hosted"');
  const place = { scenario: tracedScenario, profile, decodeTokensPerSecond: 1000, rttMs: 50 };
  const cell = cellAt(place, seed, { restartsAfterIdle: false });
  const rollouts = [];
  for (const arm of tracedArms) {
    const spans = new Spans();
    await playVirtual(cell, virtualArm(arm), 0, spans);
    rollouts.push({ arm, spans: spans.list });
  }
  const about: TracedCell = {
    engine: 'virtual',
    scenario: tracedScenario.name,
    profile: profile.name,
    tokens_per_second: place.decodeTokensPerSecond,
    rtt_ms: place.rttMs,
    rollout: 0,
  };
  store.write(fileNames.trace, chromeTrace(about, rollouts));
  store.write(fileNames.otlp, otlpTrace(about, rollouts));
}

/** A unit of work as its clients saw it, where its turns were kept. Does nothing where it was not measured. */
export function writeMeasuredTrace(store: Pick<Store, 'write' | 'rows'>, unit: string): void {
  const { rollouts, turns } = store.rows();
  const own = rollouts.filter((row) => row.unit === unit);
  const [first] = own;
  if (first === undefined) return;
  const { engine, scenario, profile, tokens_per_second, rtt_ms, rollout } = first;
  const traced = own.map(({ arm }) => ({
    arm,
    spans: spansOfTurns(turns.filter((turn) => turn.unit === unit && turn.arm === arm)),
  }));
  const about = { engine, scenario, profile, tokens_per_second, rtt_ms, rollout };
  store.write(fileNames.measuredTrace, chromeTrace(about, traced));
}
