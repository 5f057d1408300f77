/**
 * What a result of the lab holds: one section for each question, as it stands in `summary.json`. Types alone; each section
 * is made by a module of its own. Times are milliseconds; a difference is prototype − shipped unless it says otherwise, so
 * that a negative one means that the prototype is faster.
 */
import type { DesignCounts } from '../counts.js';
import type { Manifest } from '../manifest.js';
import type { PairedDifference } from '../statistics.js';
import type { MachineCosts } from '../virtual/cell.js';

/** Where a figure comes from: processes and sockets, or the engine's code in virtual time. */
export type EngineKind = 'real' | 'virtual';

/** Two arms over the same rollouts. */
export interface Difference {
  readonly engine: EngineKind;
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly left: string;
  readonly right: string;
  readonly rollouts: number;
  readonly turns: number;
  /** End to end per turn, left − right, over blocks or rollouts. */
  readonly ms_per_turn: PairedDifference;
  /** Sum of the differences over the sum of the right arm: as run, and with tools at their true time. */
  readonly relative: number;
  readonly relative_at_true_tool_time: number;
  /** From the A-A arm; null in virtual time, which has no noise. */
  readonly smallest_detectable_ms_per_turn: number | null;
}

/** One design under one profile at one speed: means over the rollouts of a scenario. */
export interface ArmMean {
  readonly arm: string;
  readonly e2e_ms: number;
  readonly overhead_ms_per_turn: number;
  /** Turn ready → first token, turns after the first. */
  readonly first_token_ms: number;
  readonly bytes_up_per_turn: number;
  /** Sum of end-to-end times over that of `replay-http`. */
  readonly ratio: number;
}

export interface ProfileSection {
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  /** Whether a window that was idle starts small again. */
  readonly restarts_after_idle: boolean;
  readonly rollouts: number;
  readonly arms: readonly ArmMean[];
  readonly difference: Difference;
}

/** How the gain grows with what nobody has measured: the cost of a create beyond an append's, and of a place. */
export interface FrontierSection {
  readonly scenario: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly tool_scale: number;
  /** Whether a window that was idle starts small again: then a create waits a round trip or more for its own bytes. */
  readonly restarts_after_idle: boolean;
  readonly rollouts: number;
  readonly points: readonly {
    readonly residual_ms: number;
    readonly admission_ms: number;
    /** End to end per turn of the shipped design. */
    readonly chain_ms_per_turn: number;
    readonly ms_per_turn: number;
    readonly relative: number;
    readonly relative_at_true_tool_time: number;
  }[];
  /** The residual from which the gain passes 5 % at no difference in admission; null where none on the axis does. */
  readonly threshold_ms: number | null;
}

export interface FactorSection {
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly restarts_after_idle: boolean;
  readonly rollouts: number;
  /** Every combination of the switches, by the names of those that are on. */
  readonly cells: readonly { readonly on: readonly string[]; readonly ms_per_turn: number }[];
  /** One change after the other, from the first shape to the prototype. */
  readonly ladder: readonly { readonly step: string; readonly ms_per_turn: number }[];
  /**
   * Of the whole gain per turn, what each switch gives, averaged over every order in which they can be set. Milliseconds
   * saved: positive where the switch makes it faster.
   */
  readonly shapley: readonly {
    readonly factor: string;
    readonly ms_per_turn: number;
    readonly share: number;
    /** What it gives when it is the only change to the shipped design. */
    readonly alone_ms_per_turn: number;
  }[];
  /** Work done ahead, while the tools run: what it saves the shipped design, and its share of the whole gain. */
  readonly ahead: { readonly ms_per_turn: number; readonly share: number };
}

/** Whether prototype − shipped stays the same while one thing changes and nothing else does. */
export interface InvarianceSection {
  readonly factor: 'rtt_ms' | 'context_tokens' | 'output_tokens' | 'tool_ms' | 'turns';
  /** Whether a window that was idle starts small again. */
  readonly restarts_after_idle: boolean;
  readonly points: readonly { readonly value: number; readonly ms_per_turn: number }[];
  /** Largest less smallest, in ms per turn. */
  readonly spread_ms: number;
}

/** A short rollout with the opening of its connection inside the measured time (cold) and without (warm). */
export interface ColdSection {
  readonly scenario: string;
  readonly profile: string;
  readonly rtt_ms: number;
  readonly tls: boolean;
  readonly arm: string;
  readonly cold_ms: number;
  readonly warm_ms: number;
}

/** What is held for a rollout between its turns, at one time to live. */
export interface ResidencySection {
  readonly scenario: string;
  readonly ttl_ms: number | null;
  readonly arm: string;
  /** Tokens of model state held, times the seconds for which they are, per rollout. */
  readonly token_seconds: number;
  /** Seconds per rollout in which a place on the machine is held while nothing is sampled. */
  readonly place_seconds: number;
}

/** One cell played both ways. */
export interface AnchorSection {
  readonly name: string;
  /** Took no part in any fitting. */
  readonly held_out: boolean;
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly path: 'loopback' | 'relay' | 'namespaces';
  readonly blocks: number;
  /** Overhead per turn of each arm: real, virtual, and by the formula. */
  readonly overhead: readonly {
    readonly arm: string;
    readonly real: number;
    readonly virtual: number;
    readonly formula: number | null;
  }[];
  /** Paired difference per turn. */
  readonly difference: {
    readonly real: PairedDifference;
    readonly virtual: number;
    readonly formula: number | null;
  };
  /** Within 10 % or 0.2 ms per turn, of every overhead and of the difference. */
  readonly agrees: boolean;
  /** The same of every overhead; the difference lies in the interval of the one measured. */
  readonly agrees_within_noise: boolean;
}

/** One cell over real TCP. Times in ms. Real figures hold what the machine takes; virtual ones as far as a fit of it is given. */
export interface NetworkSection {
  readonly name: string;
  readonly scenario: string;
  readonly profile: string;
  readonly tokens_per_second: number;
  readonly rtt_ms: number;
  readonly tls: boolean;
  readonly congestion: 'cubic' | 'reno';
  /** As the kernel was told, and so the model. */
  readonly restarts_after_idle: boolean;
  readonly blocks: number;
  /** Median overhead of the turns after the first. */
  readonly overhead: readonly { readonly arm: string; readonly real: number; readonly virtual: number }[];
  /** Of each pair of arms that the cell has, measured and then played in virtual time. */
  readonly differences: readonly Difference[];
  /** Median time to open a connection, and what the model says; over HTTP the measured one holds a first request too. */
  readonly connect: readonly { readonly arm: string; readonly real: number; readonly virtual: number }[];
  /** Mean time of a rollout with its connection opened inside the time, and before it. */
  readonly cold: readonly { readonly arm: string; readonly cold_ms: number; readonly warm_ms: number }[];
}

export interface CapacitySection {
  readonly scenario: string;
  readonly profile: string;
  readonly arm: string;
  readonly workers: number;
  readonly arrivals: string;
  /** Rollouts a second that arrive, and that meet both bounds of goodput. */
  readonly offered_per_second: number;
  readonly goodput_per_second: number;
  readonly slots: number;
  readonly rollouts: number;
  /** Measured rollouts that did not complete before the run was over. */
  readonly unfinished: number;
  /** Of the measured rollouts, those that met both bounds. */
  readonly attainment: number;
  /** Rollouts a second that this design could carry at most: the smaller of what workers and slots allow. */
  readonly capacity_per_second: number;
  /** Of all the slots' time from the first arrival to the end of the run: sampled in, and held while tools ran. */
  readonly slots_sampled_share: number;
  readonly slots_held_share: number;
  readonly ttft_ms: Readonly<Record<'p50' | 'p90' | 'p95' | 'p99', number>>;
  readonly e2e_ms: Readonly<Record<'p50' | 'p90' | 'p95' | 'p99', number>>;
}

export interface Verdict {
  readonly id: string;
  readonly statement: string;
  /** The field of this summary that decides it. */
  readonly decided_by: string;
  readonly engine: EngineKind;
  readonly effect: string;
  /** Adjusted for the number of hypotheses (Holm); null where there is no noise to test against. */
  readonly p_adjusted: number | null;
  readonly verdict: 'supported' | 'refuted' | 'undecided';
  readonly because: string;
}

export interface ClaimVerdict {
  readonly claim: string;
  readonly source: string;
  readonly verdict: 'reproduced' | 'not reproduced' | 'not comparable';
  readonly because: string;
  readonly decided_by: string;
}

/** What the machine itself takes in one arm, as virtual time charges it where it stands for measured cells. */
export interface MachineSection extends MachineCosts {
  readonly arm: string;
}

export interface LabSummary {
  readonly version: 1;
  readonly set: 'quick' | 'full';
  readonly manifest: Manifest;
  readonly seed: number;
  /** True where the run was ended early: sections that are missing were not reached. */
  readonly partial: boolean;
  readonly counts?: readonly DesignCounts[];
  /** Nothing simulated but model and tools: the finding. */
  readonly bare?: readonly Difference[];
  readonly profiles?: readonly ProfileSection[];
  readonly frontier?: readonly FrontierSection[];
  readonly factors?: readonly FactorSection[];
  readonly invariance?: readonly InvarianceSection[];
  readonly cold?: readonly ColdSection[];
  readonly residency?: readonly ResidencySection[];
  readonly anchors?: readonly AnchorSection[];
  readonly machine?: readonly MachineSection[];
  /** Real TCP over network namespaces; absent where they can't be made. */
  readonly network?: readonly NetworkSection[];
  readonly capacity?: readonly CapacitySection[];
  readonly hypotheses?: readonly Verdict[];
  readonly claims?: readonly ClaimVerdict[];
}
