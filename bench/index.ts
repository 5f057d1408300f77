/** What the designs cost: the comparison, the lab and the virtual engine, typed. */
export { arms, baselineArm, headlineArms, spokenArms, twinArm, type Arm } from './arms.js';
export {
  compare,
  compareDefaults,
  type CompareOptions,
  type CompareParameters,
  type Comparison,
} from './compare.js';
export type { Tally } from './schema/counters.js';
export { run as counts, type CountsOptions, type CountsResult, type DesignCounts } from './counts.js';
export { LatencyHistogram, latencyMsMax, type LatencyQuantiles } from './histogram.js';
export { manifest, type Manifest } from './manifest.js';
export { measureRollout, type MeasuredTurn, type Measurement, type Pace, type Place } from './measure.js';
export {
  effectiveTps,
  goodput,
  meets,
  metricDefinitions,
  metricsOf,
  quantiles,
  tpotMs,
  ttftMs,
  type MetricDefinition,
  type MetricRollout,
  type MetricTurn,
  type Metrics,
  type Objectives,
  type Quantiles,
  type ServedRollout,
} from './metrics.js';
export { obligationsText, openingLine, report } from './report.js';
export { startServer, type ServerProcess } from './server-process.js';
export {
  bootstrap,
  holm,
  pairedDifference,
  ratioOfSums,
  signFlipPValue,
  smallestDetectable,
  type Interval,
  type PairedDifference,
  type Statistic,
} from './statistics.js';
export {
  corrected,
  materialShare,
  summarise,
  type Headline,
  type Row,
  type ScenarioSummary,
} from './summary.js';
export { runLab, type LabOptions } from './lab/run-lab.js';
export type * from './lab/sections.js';
export { cellAt, type VirtualPlace } from './lab/virtual-sections.js';
export type { NetworkModel } from './network/model.js';
export {
  appendWork,
  boundDesigns,
  createWork,
  endWork,
  endWorkOverlapped,
  obligationsOf,
  requestWork,
  type Bound,
} from './service/obligations.js';
export { builtinProfiles, profileNamed, type Profile } from './service/profile.js';
export { Service, type Work } from './service/stage.js';
export { prototype, shipped, virtualArm, virtualArms, type VirtualArm } from './virtual/arm.js';
export { factorSection } from './virtual/factors.js';
export { predictRollout } from './virtual/formula.js';
export { frontierSection } from './virtual/frontier.js';
export { playVirtual, type PlayedRollout, type VirtualCell } from './virtual/rollout.js';
export { simulate } from './virtual/simulate.js';
export { fixedCostProfile, measureFixedCost, type FixedCost, type FixedCostOptions } from './fixed-cost.js';
export { whatIfArms, whatIfDefaults } from './whatif-defaults.js';
export type { DesignPrediction, Estimate, Saving } from './whatif-estimates.js';
export { whatIfText } from './whatif-text.js';
export { whatIf, type WhatIf, type WhatIfOptions } from './whatif.js';
