/** One server in virtual time: the engine's own code on a clock, its service, and the machines behind both. */
import { Engine, scriptedSampler, VirtualClock, type Script, type ScriptTurn } from '../../engine/index.js';
import { scriptTurn } from '../../engine/samplers/script.js';
import { Workers } from '../service/backend.js';
import { Service, type Work } from '../service/stage.js';
import type { VirtualArm } from './arm.js';
import type { VirtualCell } from './cell.js';
import { countedTokenizer } from './counted.js';
import { slottedSampler, Slots, type SlotPolicy } from './slots.js';

export interface VirtualServerParts {
  readonly cell: VirtualCell;
  readonly arm: VirtualArm;
  /** Processors that simulated work is done on. Default `Infinity`: nothing waits for another. */
  readonly workers?: number;
  /** Turns that the model samples at once. Default: as many as there are, and none of them is counted. */
  readonly slots?: number;
  readonly onTurn?: SlotPolicy['onTurn'];
  /** Called with every piece of simulated work that begins. */
  readonly onWork?: (work: Work) => void;
}

export class VirtualServer {
  readonly clock: VirtualClock;
  readonly engine: Engine;
  readonly workers: Workers;
  readonly slots: Slots | null;
  /** What the model says in each rollout that is under way, by the rollout's name. */
  readonly scripts = new Map<string, readonly ScriptTurn[]>();
  #minted = 0;

  constructor(parts: VirtualServerParts) {
    const { cell, arm, workers = Infinity, onWork } = parts;
    const clock = new VirtualClock({ settleRounds: cell.settleRounds ?? 0 });
    this.clock = clock;
    this.workers = new Workers(clock, workers);
    const service = new Service({
      profile: cell.profile,
      clock,
      backend: this.workers,
      seed: cell.seed,
      ...(onWork === undefined ? {} : { onWork }),
    });
    this.slots = this.#slotsOf(parts);
    const sampler = this.#sampler(cell, arm);
    this.engine = new Engine({
      clock,
      tokenizer: countedTokenizer,
      rules: [],
      stages: service.stages,
      limits: {
        keepaliveMs: Infinity,
        samplerStepMsMax: Infinity,
        suspensionMsMax: Infinity,
        liveResponsesMax: Infinity,
      },
      mintId: (prefix) => `${prefix}_${++this.#minted}`,
      sampler: this.slots === null ? sampler : slottedSampler(sampler, this.slots),
    });
  }

  #slotsOf({ cell: { session }, arm, slots, onTurn }: VirtualServerParts): Slots | null {
    if (slots === undefined) return null;
    const ttlMs = session.ttlMs ?? Infinity;
    const policy = { clock: this.clock, count: slots, held: arm.place, ttlMs };
    return new Slots(onTurn === undefined ? policy : { ...policy, onTurn });
  }

  #sampler(cell: VirtualCell, arm: VirtualArm) {
    const { admit_ms, resume_ms } = cell.profile.admission;
    const script: Script = (turn, opening) =>
      scriptTurn(this.scripts.get(opening.request.metadata?.['rollout'] ?? '') ?? [], turn, opening);
    return scriptedSampler({
      clock: this.clock,
      script,
      decodeTokensPerSecond: cell.decodeTokensPerSecond,
      prefillTokensPerSecond: cell.prefillTokensPerSecond,
      tickMs: Infinity,
      session: cell.session,
      contextTokensMax: Infinity,
      admission: { admitMs: admit_ms, resumeMs: resume_ms, held: arm.place },
    });
  }
}
