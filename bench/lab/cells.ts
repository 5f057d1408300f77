/**
 * The cells of the quick and of the full set, declared before anything is measured: what is played, at which speeds, under
 * which profile, over which path. A cell of anchors is played by both engines; one that is held out takes no part in any
 * fitting.
 */
import { builtinScenarios, parseScenario, type Scenario } from '../../scenarios/index.js';

/** How the real engine's client reaches its server. */
export type Path = 'loopback' | 'relay' | 'namespaces';

export interface RealCell {
  readonly name: string;
  readonly scenario: Scenario;
  /** A built-in profile's name, or a file of costs. */
  readonly profile: string;
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  readonly toolScale: number;
  readonly rttMs: number;
  readonly path: Path;
  /** Arms that run in every block, in random order. */
  readonly arms: readonly string[];
  readonly blocks: number;
  /** TLS 1.3, ended in front of the server. Default false; loopback has none. */
  readonly tls?: boolean;
  /** Each way. Default `Infinity`; loopback has no bound. */
  readonly bytesPerSecond?: number;
  /** Of namespaces alone, the kernel's: see bench/network/namespace-commands.ts. Default true, Linux's own. */
  readonly slowStartAfterIdle?: boolean;
  /** Of namespaces alone. Default cubic, Linux's own. */
  readonly congestion?: 'cubic' | 'reno';
}

export interface AnchorCell extends RealCell {
  readonly heldOut: boolean;
}

export function builtin(name: string): Scenario {
  const scenario = builtinScenarios.get(name);
  if (scenario === undefined) throw new Error(`there is no built-in scenario ${name}`);
  return scenario;
}

/** Rollouts for anchors: short, so that a cell takes seconds, with a context and a number of tools that a cell chooses. */
function anchorScenario(name: string, contextTokens: number, tools: number, turns = 6): Scenario {
  return parseScenario({
    name,
    question: 'Do the two engines agree on this cell?',
    source: `Chosen: ${turns - 1} turns with a call, 80 tokens each, tools of 5 ms, outputs of 50 to 1,500 tokens.`,
    instructions_tokens: 1000,
    tools_count: tools,
    tools_bytes: 600 * tools,
    drawn: {
      turns,
      context_tokens: contextTokens,
      output_tokens: 40,
      final_output_tokens: 80,
      calls: 1,
      arguments_tokens: 40,
      tool_ms: 5,
      tool_output_tokens: { p: [0, 100], v: [50, 1500] },
    },
  });
}

const small = anchorScenario('anchor-small', 2000, 8);
const large = anchorScenario('anchor-large', 40_000, 24);
/** Where nothing is simulated around the model, turns are short and their differences small: more of them. */
const smallBare = anchorScenario('anchor-small-16', 2000, 8, 16);
const largeBare = anchorScenario('anchor-large-16', 40_000, 24, 16);
/** What the traces of a result show: few turns, so that a span can be seen. */
export const tracedScenario = large;

const loopback = {
  profile: 'bare',
  decodeTokensPerSecond: 4000,
  prefillTokensPerSecond: 400_000,
  toolScale: 1,
  rttMs: 0,
  path: 'loopback',
} as const;

const anchorArms = ['append-ws', 'chain-ws', 'replay-http'] as const;
const anchorArmsAndTwin = [...anchorArms, 'append-ws (A-A)'] as const;

/**
 * Cells to fit what the machine takes, and more that are held out: ten, of which the quick set leaves two out. Where nothing
 * is simulated around the model the engines have to agree to a fifth of a millisecond, so the full set measures those cells
 * twice as long, and `terminal`, whose rollouts have few turns, longer still.
 */
export function anchorCells(blocks: number, set: 'quick' | 'full'): AnchorCell[] {
  const full = set === 'full';
  const cell = (name: string, heldOut: boolean, parts: Partial<RealCell>): AnchorCell => ({
    ...loopback,
    scenario: small,
    arms: full ? anchorArmsAndTwin : anchorArms,
    blocks,
    ...parts,
    name,
    heldOut,
  });
  const bare = (name: string, heldOut: boolean, parts: Partial<RealCell> = {}): AnchorCell =>
    cell(`bare ${name}`, heldOut, { scenario: smallBare, blocks: full ? 2 * blocks : blocks, ...parts });
  const relay = (rttMs: number): Partial<RealCell> => ({ path: 'relay', rttMs });
  const all = [
    bare('small', false, { arms: anchorArmsAndTwin }),
    bare('large', false, { scenario: largeBare }),
    bare('slow model', false, { decodeTokensPerSecond: 1000 }),
    bare('small, RTT 20', true, relay(20)),
    bare('large, RTT 50', true, { scenario: full ? largeBare : large, ...relay(50) }),
    cell('hosted small', true, { profile: 'hosted' }),
    cell('hosted large', true, { scenario: large, profile: 'hosted' }),
    cell('hosted small, RTT 20', true, { profile: 'hosted', ...relay(20) }),
    cell('extrapolated small', true, { profile: 'extrapolated-low' }),
    bare('terminal', true, {
      scenario: builtin('terminal'),
      // Long enough that most tools are waited for: a machine that has not slept answers sooner, and no real tool takes nothing.
      toolScale: 0.01,
      blocks: (full ? 4 : 2) * blocks,
    }),
  ];
  const left = ['bare slow model', 'extrapolated small'];
  return full ? all : all.filter(({ name }) => !left.includes(name));
}

const pair = ['append-ws', 'append-ws (A-A)', 'chain-ws'] as const;

/** Nothing simulated but the model and the tools: the finding. */
export function bareCells(blocks: number, decodeTokensPerSecond: number): RealCell[] {
  const cell = (scenario: Scenario, parts: Partial<RealCell> = {}): RealCell => ({
    ...loopback,
    decodeTokensPerSecond,
    scenario,
    arms: pair,
    blocks,
    name: `bare ${scenario.name} at ${decodeTokensPerSecond}`,
    ...parts,
  });
  return [
    cell(builtin('terminal'), { toolScale: 0.002 }),
    cell(builtin('coding-replay'), { toolScale: 0.0005 }),
    cell(builtin('support')),
    cell(builtin('claim-regime'), { toolScale: 0.1 }),
    cell(builtin('single'), { toolScale: 0.1 }),
  ];
}

/** The same payload and work over both transports: H2. */
export function transportCell(blocks: number): RealCell {
  return {
    ...loopback,
    name: 'bare transports',
    scenario: small,
    arms: ['replay-ws', 'replay-http'],
    blocks,
  };
}

/** Trace means in place of medians: 523 tokens written and 16.8 s of tools in each turn (TraceLab, CC BY 4.0). */
export const claimMean: Scenario = parseScenario({
  name: 'claim-mean',
  question: 'What is left of a gain at the mean tool time of traces?',
  source:
    'Constants: as claim-regime, with the published means of TraceLab (github.com/uw-syfi/TraceLab, CC BY 4.0) in place of ' +
    'its medians: 523 tokens written and 16.8 s of tools in each turn.',
  instructions_tokens: 2000,
  tools_count: 24,
  tools_bytes: 15_500,
  drawn: {
    turns: 21,
    context_tokens: 60_000,
    output_tokens: 423,
    final_output_tokens: 523,
    calls: 1,
    arguments_tokens: 100,
    tool_ms: 16_800,
    tool_output_tokens: 875,
  },
});
