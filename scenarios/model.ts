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

/** Tokens of built turns that a script keeps, about 9 bytes each; the turn used longest ago goes first. */
const keptTokensMax = 2_000_000;

/** Built turns by name, so that a text is made once and not once in each design. */
class TurnCache {
  readonly #turns = new Map<string, { readonly turn: ScriptTurn; readonly tokens: number }>();
  #tokens = 0;

  get(name: string, build: () => ScriptTurn): ScriptTurn {
    const known = this.#turns.get(name);
    if (known !== undefined) {
      this.#turns.delete(name);
      this.#turns.set(name, known);
      return known.turn;
    }
    const turn = build();
    const tokens = turn.items.reduce(
      (sum, item) => sum + ('tokens' in item ? (item.tokens?.length ?? 0) : 0),
      0,
    );
    this.#turns.set(name, { turn, tokens });
    this.#tokens += tokens;
    this.#dropOldest();
    return turn;
  }

  #dropOldest(): void {
    for (const [name, { tokens }] of this.#turns) {
      if (this.#tokens <= keptTokensMax || this.#turns.size === 1) return;
      this.#turns.delete(name);
      this.#tokens -= tokens;
    }
  }
}

function messageOf({ output_tokens, text }: Turn, random: RandomGenerator): CountedText {
  return text === undefined ? wordText(output_tokens, random) : encoded(textOf(output_tokens, text, random));
}

/** One turn (from 1) as the model writes it: a message, where it has one, then its calls. */
function turnOf(key: RolloutKey, turn: number): ScriptTurn {
  const { scenario, seed, index } = key;
  const turns = turnsOf(rolloutOf(scenario, seed, index));
  const planned = turns[turn - 1];
  if (planned === undefined)
    throw new ProtocolError(
      'invalid_value',
      `Rollout ${index} of ${scenario.name} has ${turns.length} turns, and the context holds ${turn - 1} already.`,
      { param: 'input' },
    );
  const items: ScriptItem[] = [];
  if (planned.output_tokens > 0)
    items.push({
      type: 'message',
      ...messageOf(planned, textGenerator(key, 'message', turn)),
    });
  planned.calls.forEach((call, number) => {
    const name = toolName(scenario, turn - 1 + number);
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
  const cache = new TurnCache();
  return (request, opening) => {
    const key = keyOf(opening, scenarios);
    const turn = request.context.transcript.turns + 1;
    const name = `${key.scenario.name}/${key.seed}/${key.index}/${turn}`;
    return cache.get(name, () => turnOf(key, turn));
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
