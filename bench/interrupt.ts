/** Ctrl-C in a long command: once ends it after what is under way, twice at once. */
export function interruptible(underWay: string): AbortSignal {
  const interrupted = new AbortController();
  process.on('SIGINT', () => {
    if (interrupted.signal.aborted) process.exit(130);
    process.stderr.write(`\nending after the ${underWay} under way; once more to stop at once\n`);
    interrupted.abort();
  });
  // Without a handler of its own this signal would leave the processes behind that were started.
  process.once('SIGTERM', () => process.exit(143));
  return interrupted.signal;
}
