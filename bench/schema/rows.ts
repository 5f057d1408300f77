/** The row files of a result: one object a line. Unknown fields are errors. */
import { z } from 'zod';

import {
  bytes,
  count,
  fieldsOf,
  ms,
  oneOf,
  orNull,
  perSecond,
  ratio,
  text,
  tokens,
  type Field,
} from './field.js';

const rolloutRow = z.strictObject({
  unit: text('Key of the unit of work that made this row: what `--resume` skips.'),
  unit_rollouts: count('Rows of rollouts that the unit has; with fewer it was cut off, and is made again.'),
  engine: oneOf(
    ['real', 'virtual'],
    'Processes, sockets and a wall clock; or the same engine code in virtual time.',
  ),
  path: oneOf(
    ['loopback', 'relay', 'namespaces', 'formula'],
    'What lies between client and server: nothing; an in-process relay; kernel TCP over network namespaces; a formula.',
  ),
  scenario: text('What the model and the tools do.'),
  profile: text('What the service around the model costs; `bare` simulates nothing.'),
  arm: text('A design over a transport.'),
  tokens_per_second: perSecond('tokens', 'Simulated speed at which the model writes.'),
  rtt_ms: ms('Round-trip time between client and server that was added to the machine’s own.'),
  tool_scale: ratio('True tool time was multiplied by this.'),
  block: count('Block: arms of one block played the same rollout, in random order.'),
  order: count('Place of the arm in its block, from 0.'),
  rollout: count('Index of the rollout in its scenario and seed.'),
  status: text('How it ended.'),
  turns: count('Turns sampled.'),
  e2e_ms: ms('Handing over the first create → terminal event, at the client.'),
  connect_ms: orNull(
    ms(
      'Opening the connection, before `e2e_ms`; over HTTP with a first small request. Null in virtual time.',
    ),
  ),
  tool_ms: ms('Slowest tool of each turn, added up, as waited for.'),
  true_tool_ms: ms('The same with tools at their true time.'),
  overhead_ms: ms('Overhead of all turns added up; see `overhead_ms` of a turn.'),
  output_tokens: tokens('Tokens the model wrote in all turns.'),
  bytes_up: bytes('Payload from the client; without headers.'),
  bytes_down: orNull(bytes('Payload to the client; null where it is not counted (virtual time).')),
  frames_up: orNull(count('Frames or requests from the client; null where they are not counted.')),
  frames_down: orNull(
    count('Frames, or events of a stream, to the client; null where they are not counted.'),
  ),
  server_cpu_ms: orNull(ms('CPU of the server process, all threads; null in virtual time.')),
  client_cpu_ms: orNull(ms('CPU of the client process, all threads; null in virtual time.')),
  itl_p50_ms: orNull(
    ms('Gaps between the deltas of a turn, median, off by 1 % at most; null in virtual time.'),
  ),
  itl_p99_ms: orNull(ms('The same, 99th percentile.')),
  pre_runs: count('Passages through the stages before inference.'),
  append_runs: count('Passages through the stages at an append.'),
  post_runs: count('Passages through the stages after inference.'),
});

const turnRow = z.strictObject({
  unit: text('As in the rollout’s row; `unit`, `arm`, `block` and `rollout` together name that row.'),
  scenario: text('As in the rollout’s row.'),
  arm: text('As in the rollout’s row.'),
  block: count('As in the rollout’s row.'),
  rollout: count('As in the rollout’s row.'),
  turn: count('Depth: the number of this turn in its rollout, from 1.'),
  ready_ms: ms(
    'Turn 1 ready → this turn ready: turn 1 with its request, later ones with the last tool output.',
  ),
  first_event_ms: ms('Turn ready → first event of any kind.'),
  first_token_ms: ms('Turn ready → first delta that is not empty.'),
  last_token_ms: ms('Turn ready → last delta.'),
  ms: ms('Turn ready → hand-off or terminal event.'),
  overhead_ms: ms('`first_token_ms` less the time in which the model read what it did not hold.'),
  tpot_ms: orNull(
    ms('(`last_token_ms` − `first_token_ms`) / (`output_tokens` − 1); null under 2 output tokens.'),
  ),
  input_tokens: tokens('Context of the turn.'),
  cached_tokens: tokens('Of these, what the model held.'),
  output_tokens: tokens('Tokens the model wrote.'),
  bytes_up: bytes('Payload from the client in this turn.'),
  bytes_down: orNull(bytes('Payload to the client in this turn; null where it is not counted.')),
});

export type RolloutRow = z.output<typeof rolloutRow>;
export type TurnRow = z.output<typeof turnRow>;

export const rolloutFields: readonly Field[] = fieldsOf(rolloutRow);
export const turnFields: readonly Field[] = fieldsOf(turnRow);

function parsed<Row>(schema: z.ZodType<Row>, value: unknown, from: string): Row {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new RangeError(`${from}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'no such row'}`);
}

/** @throws RangeError that names file, line and field. */
export const parseRolloutRow = (value: unknown, from: string): RolloutRow => parsed(rolloutRow, value, from);
/** @throws RangeError that names file, line and field. */
export const parseTurnRow = (value: unknown, from: string): TurnRow => parsed(turnRow, value, from);
