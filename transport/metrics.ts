/** `/metrics` for Prometheus. Sums the engine keeps anyway are read at the scrape, not counted twice. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

import type { Engine, Settlement } from '../engine/index.js';
import type { Host } from './host.js';

export class Metrics {
  readonly #registry = new Registry();
  readonly #settled: Counter;

  constructor(engine: Engine, host: () => Host) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#settled = new Counter({
      name: 'long_response_settled_total',
      help: 'Settled Responses by outcome.',
      labelNames: ['status', 'reason'],
      registers,
    });
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({ name, help, registers, collect() { this.set(read()); } }); // prettier-ignore
    };
    gauge('long_response_live', 'Live Responses, suspended ones included.', () => engine.liveCount);
    gauge('long_response_suspended', 'Responses that wait for their client.', () => engine.suspendedCount);
    gauge('long_response_ended_kept', 'Ended Responses still readable.', () => engine.endedCount);
    gauge('long_response_sockets', 'Open sockets.', () => host().sessions.size);
    gauge('long_response_frames_in', 'Frames received since the start.', () => host().traffic.framesIn);
    gauge('long_response_frames_out', 'Frames sent since the start.', () => host().traffic.framesOut);
    this.#stageSums(engine, registers);
  }

  settled({ outcome }: Settlement): void {
    const reason = 'reason' in outcome ? outcome.reason : 'code' in outcome ? outcome.code : '';
    this.#settled.inc({ status: outcome.status, reason });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #stageSums(engine: Engine, registers: Registry[]): void {
    for (const [field, help] of [
      ['runs', 'Runs of each stage.'],
      ['tokens', 'Tokens each stage worked on.'],
      ['ms', 'Milliseconds in each stage.'],
    ] as const)
      new Gauge({
        name: `long_response_stage_${field}`,
        help,
        labelNames: ['stage'],
        registers,
        collect() {
          for (const [stage, tally] of Object.entries(engine.stageRuns)) this.set({ stage }, tally[field]);
        },
      });
  }
}
