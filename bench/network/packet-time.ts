/** Monotonic time that threads share, in ms; `performance.now()` begins anew in each. */
export function millisecondsNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
