/** How far a long command has come, on stderr. */
import { SingleBar } from 'cli-progress';

export interface Progress {
  readonly step: (done: number, of: number) => void;
  readonly stop: () => void;
}

/** A bar where somebody watches, a line per tenth elsewhere. */
export function progress(what: string): Progress {
  if (process.stderr.isTTY) {
    const bar = new SingleBar({
      format: `{bar} {value}/{total} ${what}, {eta_formatted} left`,
      stream: process.stderr,
    });
    let started = false;
    return {
      step: (done, of) => {
        if (!started) bar.start(of, 0);
        started = true;
        bar.update(done);
      },
      stop: () => bar.stop(),
    };
  }
  let told = 0;
  return {
    step: (done, of) => {
      const tenth = Math.floor((done / of) * 10);
      if (tenth > told) process.stderr.write(`${done} of ${of} ${what}\n`);
      told = tenth;
    },
    stop: () => undefined,
  };
}
