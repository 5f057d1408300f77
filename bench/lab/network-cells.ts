/**
 * Cells over real TCP, declared before anything is measured: kernel TCP between two network namespaces, where they can be
 * made. They ask what round trips do to the designs, on both sides of the time after which Linux makes the window of an
 * idle connection small again: its retransmission timeout, RTT + 200 ms. From one upload to the next a rollout here is
 * idle for RTT + 55 ms + its tool.
 */
import { parseScenario, type Scenario } from '../../scenarios/index.js';
import type { RealCell } from './cells.js';

export interface NetworkCell extends RealCell {
  readonly path: 'namespaces';
  /** Also in the quick set. */
  readonly quick: boolean;
}

const turns = 6;

/** `claim-regime` made short, so that a rollout takes a second or three: its sizes, fewer turns, tools of one time. */
function shortened(toolMs: number): Scenario {
  return parseScenario({
    name: `network-${toolMs}`,
    question: 'What does the network do to each design?',
    source: `The sizes of claim-regime: 60,000 tokens of context, 875 appended and 214 written a turn; ${turns} turns with tools of ${toolMs} ms were chosen.`,
    instructions_tokens: 2000,
    tools_count: 24,
    tools_bytes: 15_500,
    drawn: {
      turns,
      context_tokens: 60_000,
      output_tokens: 114,
      final_output_tokens: 214,
      calls: 1,
      arguments_tokens: 100,
      tool_ms: toolMs,
      tool_output_tokens: 875,
    },
  });
}

const twoArms = ['append-ws', 'chain-ws'] as const;
const allArms = [
  'append-ws',
  'append-ws (A-A)',
  'chain-ws',
  'replay-http',
  'replay-ws',
  'chain-http',
] as const;

const shared = {
  profile: 'bare',
  decodeTokensPerSecond: 4000,
  prefillTokensPerSecond: 400_000,
  toolScale: 1,
  rttMs: 50,
  path: 'namespaces',
  arms: allArms,
} as const;

/** RTT of the grid, in ms. */
export const rttGridMs = [2, 20, 50, 100, 200] as const;

/** Tools: shorter and longer than what an idle window survives, at RTT 50. */
const [short, long] = [20, 400];

/**
 * @param blocks of each cell.
 * @param set the quick one takes about 75 s at 2 blocks, on two cores that have little else to do.
 */
export function networkCells(blocks: number, set: 'quick' | 'full'): NetworkCell[] {
  const cell = (name: string, quick: boolean, scenario: Scenario, parts: Partial<RealCell>): NetworkCell => ({
    ...shared,
    scenario,
    blocks,
    ...parts,
    path: 'namespaces',
    name,
    quick,
  });
  const grid = (rttMs: number, toolMs: number, restarts: boolean, quick: boolean): NetworkCell =>
    cell(
      `grid, RTT ${rttMs}, tools ${toolMs} ms${restarts ? '' : ', no restart'}`,
      quick,
      shortened(toolMs),
      { rttMs, arms: twoArms, slowStartAfterIdle: restarts },
    );
  const all = [
    cell('bare, tools 20 ms', true, shortened(short), {}),
    cell('bare, tools 400 ms', false, shortened(long), {}),
    cell('bare, tools 20 ms, no restart', false, shortened(short), { slowStartAfterIdle: false }),
    cell('bare, tools 400 ms, no restart', false, shortened(long), { slowStartAfterIdle: false }),
    cell('hosted, tools 20 ms', false, shortened(short), { profile: 'hosted' }),
    cell('hosted, tools 400 ms', false, shortened(long), { profile: 'hosted' }),
    cell('bare, tools 20 ms, TLS', false, shortened(short), {
      tls: true,
      arms: [...twoArms, 'chain-http'],
    }),
    ...rttGridMs.flatMap((rttMs) => [
      grid(rttMs, short, true, rttMs === 2),
      grid(rttMs, long, true, rttMs === 50),
      grid(rttMs, long, false, false),
    ]),
  ];
  return set === 'full' ? all : all.filter(({ quick }) => quick);
}
