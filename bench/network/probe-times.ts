/** What the probe's client says: how long bodies of one size took on one kind of connection. */
export interface ProbeTimes {
  /** Of the body, without the four of its length. */
  readonly bytes: number;
  /** Per turn: the time to open the connection counts. */
  readonly connection: 'kept' | 'per-turn';
  /** Idle time of the connection before the body. */
  readonly gap_ms: number;
  readonly took_ms: readonly number[];
}

function isTimes(value: unknown): value is ProbeTimes {
  return (
    typeof value === 'object' &&
    value !== null &&
    'bytes' in value &&
    typeof value.bytes === 'number' &&
    'connection' in value &&
    (value.connection === 'kept' || value.connection === 'per-turn') &&
    'gap_ms' in value &&
    typeof value.gap_ms === 'number' &&
    'took_ms' in value &&
    Array.isArray(value.took_ms) &&
    value.took_ms.every((took) => typeof took === 'number')
  );
}

/** @throws Error where the client said something else. */
export function timesOf(said: unknown): readonly ProbeTimes[] {
  if (!Array.isArray(said) || !said.every(isTimes)) throw new Error('the probe said no times');
  return said;
}
