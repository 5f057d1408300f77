/** Starts a measured process: forked, so that it ends with this one and gets Node's own words (`--cpu-prof`) too. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child extends AsyncDisposable {
  readonly url: string;
  /** CPU of the whole process so far, all threads, user and system. */
  cpuUs(): Promise<number>;
}

/**
 * @param name the module beside this one that calls `offer` when it listens.
 * @throws Error where it ends before that.
 */
export async function startChild(name: string, words: readonly string[] = []): Promise<Child> {
  const child = fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), words);
  const exited = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const [said]: unknown[] = await Promise.race([once(child, 'message'), exited.then(() => [null])]);
    return said;
  };
  const url = await answer();
  if (typeof url !== 'string') throw new Error(`${name} ended before it listened`);
  return {
    url,
    async cpuUs() {
      const said = answer();
      child.send('cpu');
      return Number(await said);
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** For the child: says where it listens, answers for its CPU, and ends when the parent lets go of it. */
export function offer(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.(url);
}
