/** tinybench: the two inner loops of the engine, in process. */
import { Bench } from 'tinybench';

import { Engine, scriptedSampler, systemClock, type LiveResponse, type ScriptTurn } from '../engine/index.js';
import { EventLog } from '../engine/event-log.js';
import { entryBytes, type LogEntry } from '../engine/log-entry.js';

export interface MicroResult {
  readonly task: string;
  /** Median microseconds of one operation. */
  readonly p50_us: number;
  readonly p99_us: number;
  readonly samples: number;
}

/** One call a turn, for ever. */
const endlessTurn: ScriptTurn = {
  items: [{ type: 'function_call', name: 'run', arguments: '{"command":"ls"}' }],
};

/** A Response that is suspended, and what it owes. */
class Suspended {
  readonly #response: LiveResponse;
  #next = 0;

  constructor(response: LiveResponse) {
    this.#response = response;
  }

  /** Answers what is owed and waits for the next hand-off. */
  async resume(): Promise<void> {
    const input = this.#response.requiredInput.map(({ call_id }) => ({
      type: 'function_call_output',
      call_id,
      output: 'ok',
    }));
    this.#next = this.#response.lastNumber + 1;
    await this.#response.append(input);
    await this.handOff();
  }

  async handOff(): Promise<void> {
    for await (const event of this.#response.events(this.#next - 1)) {
      this.#next = event.sequence_number + 1;
      if (event.type === 'response.done') return;
    }
  }
}

/** @param timeMs how long each task is measured. Default 1,000. */
export async function micro(timeMs = 1_000): Promise<MicroResult[]> {
  await using engine = new Engine({
    sampler: scriptedSampler({ clock: systemClock, script: () => endlessTurn }),
  });
  const suspended = new Suspended(await engine.create({ model: 'endless', input: 'go' }));
  await suspended.handOff();
  const log = new EventLog<LogEntry>({ bytesMax: 1024 * 1024, bytesOf: entryBytes });
  const entry: LogEntry = {
    type: 'response.output_text.delta',
    output_index: 0,
    item_id: 'msg_0',
    content_index: 0,
    delta: ' word',
  };
  const bench = new Bench({ time: timeMs, warmupTime: timeMs / 4, throws: true });
  bench.add('append → sampled → suspended again, in process', () => suspended.resume());
  bench.add('event log: push and read one entry', () => {
    const number = log.push(entry);
    log.from(number);
  });
  await bench.run();
  return bench.tasks.flatMap(({ name, result }) =>
    result.state === 'completed'
      ? [
          {
            task: name,
            p50_us: result.latency.p50 * 1000,
            p99_us: result.latency.p99 * 1000,
            samples: result.latency.samplesCount,
          },
        ]
      : [],
  );
}
