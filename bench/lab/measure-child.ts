/**
 * Measures rollouts in a process of its own, so that it can be in a namespace of its own:
 * `node measure-child.js SCENARIO_FILE`. Each order that it hears is one rollout, and is answered by its measurement.
 */
import { loadScenario } from '../../scenarios/index.js';
import { armNamed } from '../arms.js';
import { measureRollout } from '../measure.js';
import { measureOrderSchema, type MeasureAnswer } from '../schema/measuring.js';

const [scenarioFile = ''] = process.argv.slice(2);
const scenario = await loadScenario(scenarioFile);

async function answerTo(word: unknown): Promise<MeasureAnswer> {
  try {
    const { address, arm, place, pace } = measureOrderSchema.parse(word);
    const measurement = await measureRollout(address, armNamed(arm), { scenario, ...place }, pace);
    return { measurement: { ...measurement, turns: [...measurement.turns] } };
  } catch (fault) {
    return { fault: fault instanceof Error ? fault.message : String(fault) };
  }
}

process.on('message', (word) => {
  void answerTo(word).then((answer) => process.send?.(answer));
});
process.once('disconnect', () => process.exit(0));
