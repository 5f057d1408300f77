/** What an agent does: scenarios, their rollouts, and both sides that play them. */
export { builtinScenarios, headlineScenarios } from './builtin.js';
export { generatorFor, type Draw } from './random.js';
export { expectedTokens, requestsOf, rolloutOf, turnsOf, type RolloutTotals } from './generate.js';
export { TraceError } from './import/document.js';
export {
  filesAt,
  isTraceFault,
  readTrace,
  readTraceFile,
  traceFormats,
  type ReadFile,
} from './import/files.js';
export { gapNotes, gapsOf, scenarioOf } from './import/merge.js';
export type { CountTokens, Gaps, Session, TraceFormat } from './import/session.js';
export { scenarioModel, scenarioScript, type ScenarioModelOptions } from './model.js';
export { playRollout } from './play.js';
export {
  otherModelName,
  rolloutRequest,
  rolloutRequests,
  scenarioModelName,
  toolOutputs,
  type OutputFor,
  type PlannedOutput,
  type RolloutRequest,
} from './request.js';
export {
  loadScenario,
  parseScenario,
  ScenarioError,
  type Call,
  type Drawn,
  type FollowUp,
  type KeptText,
  type Rollout,
  type Scenario,
  type Turn,
} from './scenario.js';
export { jsonArguments, wordText, type CountedText } from './text.js';
