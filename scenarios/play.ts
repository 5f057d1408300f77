/** A whole rollout through a client: the first request of the user, then each follow-up on the kept conversation. */
import type { Client, RolloutReport, RunOptions } from '../transport/index.js';

function joined(before: RolloutReport, next: RolloutReport): RolloutReport {
  return {
    ...next,
    responseIds: [...before.responseIds, ...next.responseIds],
    turns: [...before.turns, ...next.turns],
    items: [...before.items, ...next.items],
    ms: before.ms + next.ms,
    framesUp: before.framesUp + next.framesUp,
    bytesUp: before.bytesUp + next.bytesUp,
    framesDown: before.framesDown + next.framesDown,
    bytesDown: before.bytesDown + next.bytesDown,
  };
}

/**
 * Plays the requests one after another, up to the first that does not complete, and reports them as one rollout: turns
 * are numbered through, times and counts are sums, and nothing between two requests is in them.
 *
 * @param requests at least one, as `rolloutRequests` gives them.
 * @throws RolloutError where the server refuses or the connection ends; RangeError where there are no requests.
 */
export async function playRollout(
  client: Client,
  requests: readonly RunOptions['request'][],
  options: Pick<RunOptions, 'tool' | 'onToken'>,
): Promise<RolloutReport> {
  const [first, ...followUps] = requests;
  if (first === undefined) throw new RangeError('a rollout needs a request');
  let played = await client.run({ ...options, request: first });
  for (const request of followUps) {
    if (played.status !== 'completed') break;
    played = joined(played, await client.run({ ...options, request, after: played }));
  }
  return played;
}
