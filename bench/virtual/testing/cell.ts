/** A small cell for tests: five turns, the second with two calls, under the assumed service. */
import type { Scenario } from '../../../scenarios/index.js';
import { cellAt } from '../../lab/virtual-sections.js';
import { builtinProfiles } from '../../service/profile.js';
import type { VirtualCell } from '../rollout.js';

const call = (tool_ms: number, output_tokens: number) => ({ arguments_tokens: 40, tool_ms, output_tokens });

const scenario: Scenario = {
  name: 'small',
  question: 'Does a change of the engine or of the lab change what is simulated?',
  source: 'Made up for tests.',
  instructions_tokens: 500,
  tools_count: 4,
  tools_bytes: 2400,
  rollouts: [
    {
      context_tokens: 6000,
      turns: [
        { output_tokens: 60, calls: [call(120, 900)] },
        { output_tokens: 0, calls: [call(10, 4000), call(400, 30)] },
        { output_tokens: 25, calls: [call(0, 200)] },
        { output_tokens: 5, calls: [call(35, 7000)] },
        { output_tokens: 90, calls: [] },
      ],
    },
    {
      context_tokens: 20_000,
      turns: [
        { output_tokens: 10, calls: [call(700, 100)] },
        { output_tokens: 200, calls: [] },
      ],
    },
  ],
};

export function testCell(changes: Partial<VirtualCell> = {}): VirtualCell {
  const profile = builtinProfiles.get('hosted');
  if (profile === undefined) throw new Error('there is no profile "hosted"');
  return {
    ...cellAt({ scenario, profile, decodeTokensPerSecond: 1000, rttMs: 50 }, 1),
    ...changes,
  };
}
