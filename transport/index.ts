/** The transport, for embedders: serve an engine, or talk to a server. */
export { Client, type ConnectOptions } from './client.js';
export {
  RolloutError,
  type ClientToolCall,
  type Counts,
  type RolloutReport,
  type RunOptions,
  type TurnReport,
} from './client-report.js';
export {
  builtinDesigns,
  DesignRegistry,
  titleOf,
  type ClientDialect,
  type Design,
  type DialectName,
  type Over,
  type Transport,
} from './designs.js';
export { ChainContinuity, PerTurn } from './chain.js';
export type { Continuity, ContinuityParts, CreateFields, MakeContinuity, Showing } from './continuity.js';
export { Keys, readKeys } from './keys.js';
export { listen, type ListenKind } from './listen.js';
export { loopback } from './loopback.js';
export { serve, type ServeOptions, type Serving } from './serve.js';
export { openRecording, Recording, type RecordingOptions } from './record-file.js';
export type { Lines, RecordedInput, RecordedOutput, RecordedTurn, RecordingHeader } from './record-lines.js';
export { Recorder, type RecordOptions } from './record.js';
export { Server, type ServerOptions } from './server.js';
export { Session, type Dialect, type DialectParts, type MakeDialect } from './session.js';
export type { Answer, Application, Exchange, Handshake, ListenOptions, Listening, Socket } from './socket.js';
