/** The engine, for embedders. */
export { defaultRules, type Rule } from './classify.js';
export { deferred, systemClock, VirtualClock, type Deferred } from './clock.js';
export { Engine, type CreateOptions, type EngineOptions, type UncheckedRequest } from './engine.js';
export type { HandOffPoint } from './hand-offs.js';
export { limitTable, limitsWith, type Limit, type LimitName, type Limits } from './limits.js';
export { LiveResponse, type AppendAccepted, type AppendOptions, type Settlement } from './live-response.js';
export type { LogEntry, TurnUsage } from './log-entry.js';
export { MemoryStore } from './memory-store.js';
export type { IncompleteReason, Outcome } from './outcome.js';
export type { Overlap } from './overlap.js';
export type { Clock, Store, StoredResponse, Timer, Tokenizer } from './ports.js';
export { VirtualResponse } from './projection.js';
export { createdObject } from './response-object.js';
export { ProtocolError, toProtocolError, type ErrorBody, type ErrorCode } from './protocol/errors.js';
export { isSampled, type Item, type ToolCall, type ToolOutput } from './protocol/items.js';
export type { CreateRequest, CreateRequestInput, Tool, ToolChoice } from './protocol/requests.js';
export {
  serverEventSchema,
  trustedServerEventSchema,
  type OutputItem,
  type RequiredInput,
  type ResponseObject,
  type ServerEvent,
  type Usage,
} from './protocol/server-events.js';
export type { BoundsPer, HandOff } from './rollout-parts.js';
export { checkSampler } from './samplers/conformance.js';
export { demoScript } from './samplers/demo.js';
export type {
  Context,
  Sampler,
  SamplerEvent,
  SamplerOpening,
  SamplerSession,
  SampledStart,
  TurnRequest,
} from './samplers/sampler.js';
export {
  scriptedSampler,
  type AdmissionPolicy,
  type ScriptedOptions,
  type ScriptedSampler,
  type SessionPolicy,
  type Script,
  type ScriptItem,
  type ScriptTurn,
} from './samplers/scripted.js';
export {
  upstreamSampler,
  type UpstreamAnswer,
  type UpstreamHttp,
  type UpstreamOptions,
  type UpstreamSampler,
} from './samplers/upstream/upstream.js';
export type { Phase, Receipt, StageRuns, StageTally } from './receipts.js';
export type { Bill, Kept, Obligation, Obligations, Passage, Stage, StageRun } from './stages.js';
export { checkGrammar, type GrammarOptions } from './testing/grammar.js';
export { cachedTokenizer, o200kTokenizer } from './tokenizer.js';
export { Transcript } from './transcript.js';
