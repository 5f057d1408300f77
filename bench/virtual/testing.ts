/** A small service for the tests of loaded servers. Its costs are made up for them. */
import type { Scenario } from '../../scenarios/index.js';
import type { Profile } from '../service/profile.js';
import type { VirtualCell } from './cell.js';

/** So many turns, each with a tool of so many milliseconds. */
export function smallScenario(turns: number, tool_ms: number): Scenario {
  return {
    name: 'small',
    question: 'None: it is for tests.',
    source: 'Made up.',
    instructions_tokens: 10,
    tools_count: 1,
    tools_bytes: 240,
    drawn: {
      turns,
      context_tokens: 100,
      output_tokens: 0,
      final_output_tokens: 10,
      calls: 1,
      arguments_tokens: 10,
      tool_ms,
      tool_output_tokens: 20,
    },
  };
}

/** CPU of a create beyond an append's, and of both. */
export function cpuProfile(createMs: number, bothMs: number): Profile {
  const cpu = (cpu_ms: number) => ({ full: { wait_ms: 0, cpu_ms, us_per_token: 0 } });
  return {
    name: 'made-up-cpu',
    about: 'CPU of requests alone, made up for tests.',
    source: 'Assumed for tests; nobody has measured it.',
    modules: { residual: cpu(createMs), validation: cpu(bothMs) },
    admission: { admit_ms: 0, resume_ms: 0 },
    history_share: 0,
  };
}

/** No network to speak of, 1,000 tokens a second, equal state in all designs. */
export function smallCell(scenario: Scenario, profile: Profile): VirtualCell {
  return {
    scenario,
    seed: 1,
    network: { rttMs: 0, bytesPerSecond: Infinity, restartsAfterIdle: false, connection: 'kept', tls: false },
    profile,
    decodeTokensPerSecond: 1000,
    prefillTokensPerSecond: 100_000,
    toolScale: 1,
    session: { policy: 'per-conversation', ttlMs: 60_000 },
    cold: false,
  };
}
