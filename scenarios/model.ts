/** The model's side of a scenario: a sampler that plays any rollout of any scenario it knows. */
import { ProtocolError } from '../engine/protocol/errors.js';
import type { SamplerOpening, TurnRequest } from '../engine/samplers/sampler.js';
import type { ScriptItem, ScriptTurn } from '../engine/samplers/script.js';
import { scriptedSampler, type ScriptedOptions, type ScriptedSampler } from '../engine/samplers/scripted.js';
import { builtinScenarios } from './builtin.js';
import { textGenerator, toolName, type RolloutKey } from './content.js';
import { rolloutOf, turnsOf } from './generate.js';
import type { RandomGenerator } from './random.js';
import type { Scenario, Turn } from './scenario.js';
import { encoded, jsonArguments, textOf, wordText, type CountedText } from './text.js';

/** Tokens of written rollouts that a script keeps, about 9 bytes each; the rollout used longest ago goes first. */
const keptTokensMax = 2_000_000;

type Written = readonly ScriptTurn[];

function tokensOf(turns: Written): number {
  const items = turns.flatMap((turn) => turn.items);
  return items.reduce((sum, item) => sum + ('tokens' in item ? (item.tokens?.length ?? 0) : 0), 0);
}

/**
 * Written rollouts by name. A rollout is written whole at its first turn, so that no later turn waits for its text, which
 * the design that came first would wait for alone.
 */
class RolloutCache {
  readonly #rollouts = new Map<string, { readonly turns: Written; readonly tokens: number }>();
  #tokens = 0;

  get(name: string, write: () => Written): Written {
    const known = this.#rollouts.get(name);
    if (known !== undefined) {
      this.#rollouts.delete(name);
      this.#rollouts.set(name, known);
      return known.turns;
    }
    const turns = write();
    const tokens = tokensOf(turns);
    this.#rollouts.set(name, { turns, tokens });
    this.#tokens += tokens;
    this.#dropOldest();
    return turns;
  }

  #dropOldest(): void {
    for (const [name, { tokens }] of this.#rollouts) {
      if (this.#tokens <= keptTokensMax || this.#rollouts.size === 1) return;
      this.#rollouts.delete(name);
      this.#tokens -= tokens;
    }
  }
}

function messageOf({ output_tokens, text }: Turn, random: RandomGenerator): CountedText {
  return text === undefined ? wordText(output_tokens, random) : encoded(textOf(output_tokens, text, random));
}

/** One turn (from 1) as the model writes it: a message, where it has one, then its calls. */
function turnOf(key: RolloutKey, planned: Turn, turn: number): ScriptTurn {
  const items: ScriptItem[] = [];
  if (planned.output_tokens > 0)
    items.push({
      type: 'message',
      ...messageOf(planned, textGenerator(key, 'message', turn)),
    });
  planned.calls.forEach((call, number) => {
    const name = toolName(key.scenario, turn - 1 + number);
    if (call.arguments_text !== undefined) {
      const { text, tokens } = encoded(call.arguments_text);
      items.push({ type: 'function_call', name, arguments: text, tokens });
      return;
    }
    const { text, tokens } = jsonArguments(
      call.arguments_tokens,
      textGenerator(key, 'arguments', turn, number),
    );
    items.push({ type: 'function_call', name, arguments: text, tokens });
  });
  return { items };
}

function written(key: RolloutKey): ScriptTurn[] {
  const { scenario, seed, index } = key;
  return turnsOf(rolloutOf(scenario, seed, index)).map((turn, at) => turnOf(key, turn, at + 1));
}

function wholeNumber(text: string | undefined, param: string): number {
  const number = Number(text);
  if (text === undefined || text === '' || !Number.isSafeInteger(number))
    throw new ProtocolError('invalid_value', `${param}: expected a whole number.`, { param });
  return number;
}

function keyOf(opening: SamplerOpening, scenarios: ReadonlyMap<string, Scenario>): RolloutKey {
  const metadata = opening.request.metadata ?? {};
  const name = metadata['scenario'];
  const scenario = name === undefined ? undefined : scenarios.get(name);
  if (scenario === undefined)
    throw new ProtocolError('invalid_value', `metadata.scenario: no scenario ${name ?? 'is named'}.`, {
      param: 'metadata.scenario',
    });
  const index = wholeNumber(metadata['rollout'], 'metadata.rollout');
  if (index < 0)
    throw new ProtocolError('invalid_value', 'metadata.rollout: expected a number from 0.', {
      param: 'metadata.rollout',
    });
  return { scenario, seed: wholeNumber(metadata['seed'], 'metadata.seed'), index };
}

/**
 * The script: finds its rollout in the request's metadata and its turn by the turns that the transcript holds, so it
 * needs no memory of the conversation and says the same in every design.
 */
export function scenarioScript(
  scenarios: ReadonlyMap<string, Scenario> = builtinScenarios,
): (turn: TurnRequest, opening: SamplerOpening) => ScriptTurn {
  const cache = new RolloutCache();
  return (request, opening) => {
    const key = keyOf(opening, scenarios);
    const sampled = request.context.transcript.turns;
    const name = `${key.scenario.name}/${key.seed}/${key.index}`;
    const turns = cache.get(name, () => written(key));
    const turn = turns[sampled];
    if (turn !== undefined) return turn;
    throw new ProtocolError(
      'invalid_value',
      `Rollout ${key.index} of ${key.scenario.name} has ${turns.length} turns, and the context holds ${sampled} already.`,
      { param: 'input' },
    );
  };
}

export interface ScenarioModelOptions extends Omit<ScriptedOptions, 'script'> {
  /** Default 1,000,000: rollouts of `coding-replay` read up to half of that. */
  readonly contextTokensMax?: number;
  /** What it can play, by name: by default the built-in scenarios, and nothing else where this is given. */
  readonly scenarios?: ReadonlyMap<string, Scenario>;
}

/**
 * A sampler that plays scenarios at the given speed. A turn fails with `invalid_value` where the metadata names no
 * rollout, or where the rollout has no more turns.
 */
export function scenarioModel({ scenarios, ...speed }: ScenarioModelOptions): ScriptedSampler {
  return scriptedSampler({ contextTokensMax: 1_000_000, ...speed, script: scenarioScript(scenarios) });
}
