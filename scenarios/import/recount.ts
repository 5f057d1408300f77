/** Whether the recorded texts of a scenario have the tokens it says. */
import { pathText, ScenarioError, type FollowUp, type KeptText, type Scenario } from '../scenario.js';
import type { CountTokens } from './session.js';

type Found = readonly [path: readonly PropertyKey[], tokens: number, text: string];

type Path = readonly PropertyKey[];

function kept(path: Path, text: KeptText | undefined): Found[] {
  return text === undefined ? [] : [[[...path, 'tokens'], text.tokens, text.text]];
}

/** Of one request of the user: the first, or a follow-up. */
function textsOf({ context_text, turns }: Pick<FollowUp, 'context_text' | 'turns'>, at: Path): Found[] {
  return [
    ...kept([...at, 'context_text'], context_text),
    ...turns.flatMap(({ text, calls }, turn) => [
      ...kept([...at, 'turns', turn, 'text'], text),
      ...calls.flatMap((call, index): Found[] => {
        const path = [...at, 'turns', turn, 'calls', index];
        const { arguments_text, arguments_tokens, output_text } = call;
        return [
          ...(arguments_text === undefined
            ? []
            : [[[...path, 'arguments_tokens'], arguments_tokens, arguments_text] as const]),
          ...kept([...path, 'output_text'], output_text),
        ];
      }),
    ]),
  ];
}

function textsIn({ rollouts = [] }: Scenario): Found[] {
  return rollouts.flatMap((rollout, number) => [
    ...textsOf(rollout, ['rollouts', number]),
    ...(rollout.follow_ups ?? []).flatMap((next, index) =>
      textsOf(next, ['rollouts', number, 'follow_ups', index]),
    ),
  ]);
}

/** @throws ScenarioError that names the first count that is another than its text has. */
export async function recount(scenario: Scenario, from: string, count: CountTokens): Promise<void> {
  for (const [path, tokens, text] of textsIn(scenario)) {
    const has = await count(text);
    if (has !== tokens)
      throw new ScenarioError(
        `${from}: ${pathText(path)}: expected ${has}, which the text has, got ${tokens}`,
      );
  }
}
