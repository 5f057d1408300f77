/**
 * Every bound of the engine and of a session, in one place. A limit has a unit (the last word of its name), a
 * default, the reason for it, and the error or close code a client sees at it.
 */
import type { ErrorCode } from './protocol/errors.js';

export interface Limit {
  readonly default: number;
  readonly reason: string;
  /** The error code, or the WebSocket close code, at the limit. */
  readonly error: ErrorCode | number | 'outcome';
}

const MiB = 1024 * 1024;
const minuteMs = 60_000;

export const limitTable = {
  liveResponsesMax: {
    default: 50_000,
    reason: 'Suspended Responses count and are never evicted to make room; 12 KiB each is 600 MiB.',
    error: 'rate_limit_exceeded',
  },
  endedResponsesMax: {
    default: 1_000,
    reason: 'Ended Responses stay readable and attachable for a while; the oldest go first.',
    error: 'response_not_found',
  },
  endedResponsesBytesMax: {
    default: 256 * MiB,
    reason: 'A thousand ended Responses may hold a thousand long logs.',
    error: 'response_not_found',
  },
  logBytesMax: {
    default: 4 * MiB,
    reason: 'What a reader may lag behind in one Response; an older position can still read the snapshot.',
    error: 'replay_expired',
  },
  inputItemsMax: { default: 10_000, reason: 'Items in one create or append.', error: 'limit_exceeded' },
  toolsMax: {
    default: 256,
    reason: 'Tools in one create; clients send up to about 30.',
    error: 'limit_exceeded',
  },
  outputBytesMax: {
    default: 10 * MiB,
    reason: 'One tool output, in UTF-16 code units; the public API allows 10 MiB.',
    error: 'output_too_long',
  },
  dataUrlBytesMax: {
    default: 8 * MiB,
    reason: 'One image or file carried inside a part.',
    error: 'limit_exceeded',
  },
  pendingMessagesMax: {
    default: 1_000,
    reason: 'User messages that wait for the next turn of one rollout.',
    error: 'limit_exceeded',
  },
  pendingAppendsMax: {
    default: 256,
    reason: 'Appends to one Response that wait for an earlier one to be rendered.',
    error: 'rate_limit_exceeded',
  },
  turnsMax: { default: 100_000, reason: 'A rollout that loops for ever.', error: 'outcome' },
  suspensionMsMax: {
    default: 60 * minuteMs,
    reason: 'How long one tool hand-off may take; agents wait up to an hour for a sub-agent.',
    error: 'outcome',
  },
  rolloutMsMax: { default: Infinity, reason: 'A whole rollout; none by default.', error: 'outcome' },
  samplerStepMsMax: {
    default: 10 * minuteMs,
    reason: 'The longest silence of a sampler before the Response fails.',
    error: 'outcome',
  },
  postMsMax: {
    default: 30_000,
    reason: 'Post-inference runs on a signal of its own, which the cancel does not kill but this does.',
    error: 'outcome',
  },
  graceMsMax: {
    default: 10 * minuteMs,
    reason:
      'A Response without any socket; Codex comes back only when its tool ends, polling for up to 5 minutes.',
    error: 'outcome',
  },
  keepaliveMs: {
    default: 30_000,
    reason: 'Silence before a repeated response.in_progress; proxies cut at 60 to 100 s, Codex at 300 s.',
    error: 'outcome',
  },
  frameBytesMax: { default: 16 * MiB, reason: 'One frame from a client.', error: 1009 },
  frameDepthMax: { default: 64, reason: 'Nesting of arrays and objects in a frame.', error: 'invalid_json' },
  sendBufferBytesMax: {
    default: 1 * MiB,
    reason: 'Bytes waiting in one socket before its session stops reading the log.',
    error: 1013,
  },
  drainMsMax: {
    default: 60_000,
    reason: 'A socket whose send buffer stays full this long is closed; its Responses are not.',
    error: 1013,
  },
  socketsMax: { default: 20_000, reason: 'Open sockets of one server.', error: 'rate_limit_exceeded' },
  socketResponsesMax: {
    default: 256,
    reason: 'Responses that one native socket runs or holds at once.',
    error: 'rate_limit_exceeded',
  },
  socketQueueMax: {
    default: 64,
    reason: 'Creates that wait on a one-at-a-time socket.',
    error: 'rate_limit_exceeded',
  },
  keptResponsesMax: {
    default: 64,
    reason:
      'Ended responses that stay with a per-turn socket for a continuation, and hand-offs of one rollout.',
    error: 'previous_response_not_found',
  },
  lanesNamedMax: {
    default: 32,
    reason: 'Named lanes in the life of one socket; the public number.',
    error: 'websocket_stream_limit_reached',
  },
  lanesInFlightMax: {
    default: 16,
    reason: 'Responses at once over all lanes of one socket; the public number. More wait.',
    error: 'outcome',
  },
  steersMax: {
    default: 16,
    reason: 'Messages that wait to steer one response.',
    error: 'too_many_pending_steers',
  },
  storedResponsesMax: {
    default: 1_000,
    reason:
      'Per-turn responses of all sockets that can be read and continued by id while their rollout lives.',
    error: 'previous_response_not_found',
  },
  storedItemsMax: {
    default: 20_000,
    reason: 'Items of stored responses that an item_reference can name.',
    error: 'item_not_found',
  },
  adoptionCallsMax: {
    default: 100_000,
    reason:
      'Call ids by which a history that is sent in full finds its suspended rollout, over all rollouts.',
    error: 'outcome',
  },
  socketAgeMsMax: {
    default: 60 * minuteMs,
    reason: 'The public lifetime of a socket.',
    error: 'websocket_connection_limit_reached',
  },
  pingMs: {
    default: 25_000,
    reason: 'Proxies cut silent sockets; the peer must answer within twice this.',
    error: 1006,
  },
  eventIdsMax: {
    default: 10_000,
    reason: 'Creates remembered by event_id, so that a resend is the same rollout.',
    error: 'outcome',
  },
  shutdownMsMax: {
    default: 10_000,
    reason: 'After SIGTERM, how long running Responses may take to end.',
    error: 'server_shutting_down',
  },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limitTable;
export type Limits = Readonly<Record<LimitName, number>>;

function defaults(): Record<LimitName, number> {
  const entries = Object.entries(limitTable).map(([name, limit]) => [name, limit.default] as const);
  // Object.fromEntries forgets the names, which the table's own type still knows.
  return Object.fromEntries(entries) as Record<LimitName, number>; // oxlint-disable-line typescript/no-unsafe-type-assertion
}

/** The limits, with some of them replaced. Throws a RangeError that names what is no limit, below zero or not a number. */
export function limitsWith(overrides: Partial<Limits> = {}): Limits {
  const limits = { ...defaults(), ...overrides };
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(limitTable, name)) throw new RangeError(`there is no limit ${name}`);
    if (typeof value !== 'number' || !(value >= 0))
      throw new RangeError(`limit ${name}: expected a number of 0 or more, got ${String(value)}`);
  }
  return limits;
}
