/** Whether the recorded texts of a scenario have the tokens it says. */
import { pathText, ScenarioError, type KeptText, type Scenario } from '../scenario.js';
import type { CountTokens } from './session.js';

type Found = readonly [path: readonly PropertyKey[], tokens: number, text: string];

function textsOf({ rollouts }: Scenario): Found[] {
  const found = (path: readonly PropertyKey[], kept: KeptText | undefined): Found[] =>
    kept === undefined ? [] : [[[...path, 'tokens'], kept.tokens, kept.text]];
  return (rollouts ?? []).flatMap(({ context_text, turns }, number) => [
    ...found(['rollouts', number, 'context_text'], context_text),
    ...turns.flatMap(({ text, calls }, turn) => [
      ...found(['rollouts', number, 'turns', turn, 'text'], text),
      ...calls.flatMap((call, index): Found[] => {
        const path = ['rollouts', number, 'turns', turn, 'calls', index];
        const { arguments_text, arguments_tokens, output_text } = call;
        return [
          ...(arguments_text === undefined
            ? []
            : [[[...path, 'arguments_tokens'], arguments_tokens, arguments_text] as const]),
          ...found([...path, 'output_text'], output_text),
        ];
      }),
    ]),
  ]);
}

/** @throws ScenarioError that names the first count that is another than its text has. */
export async function recount(scenario: Scenario, from: string, count: CountTokens): Promise<void> {
  for (const [path, tokens, text] of textsOf(scenario)) {
    const has = await count(text);
    if (has !== tokens)
      throw new ScenarioError(
        `${from}: ${pathText(path)}: expected ${has}, which the text has, got ${tokens}`,
      );
  }
}
