/**
 * Sessions of github.com/callanjfox/kv-cache-tester: the requests of one coding session as token counts. A request that
 * brings tool results goes on with a rollout, any other begins one. The trace counts no calls, so a turn has one; its
 * time is the pause before the next request, whole seconds that include people.
 */
import { toolBytesMin } from '../scenario.js';
import { countedSession, type CountedPreamble, type CountedRound } from './counted.js';
import type { TraceDocument } from './document.js';
import { checked, kvCacheSchema, type KvCacheEntry, type KvCacheRequest } from './schema.js';
import { isRecord, toolBytesPerToken, type Session, type TraceFormat } from './session.js';

/** The trace does not count the tools it offers; Claude Code offers about this many. */
const toolsCountMax = 16;

/** Instructions and tools as long as the trace says, and no shorter than a scenario can have them. */
function preambleOf(systemTokens: number, toolTokens: number): CountedPreamble {
  const toolsTokens = Math.max(Math.ceil(toolBytesMin / toolBytesPerToken), toolTokens);
  const most = Math.floor((toolsTokens * toolBytesPerToken) / toolBytesMin);
  return {
    instructionsTokens: Math.max(1, systemTokens),
    toolsCount: Math.min(toolsCountMax, most),
    toolsTokens,
  };
}

const bringsResults = (request: KvCacheRequest): boolean =>
  request.input_types?.includes('tool_result') ?? false;

function roundOf(request: KvCacheRequest, next: KvCacheRequest | undefined): CountedRound {
  const called = next === undefined ? request.stop === 'tool_use' : bringsResults(next);
  const pauseS = next?.think_time;
  return {
    opens: !bringsResults(request),
    contextTokens: request.in,
    outputTokens: request.out,
    calls: called ? null : [],
    waitMs: pauseS === null || pauseS === undefined ? null : pauseS * 1000,
  };
}

/** What the requests that streamed wrote from their first token on. */
function writtenIn(requests: readonly KvCacheRequest[]): Pick<Session, 'written'> {
  let tokens = 0;
  let ms = 0;
  for (const { out, api_time, ttft } of requests) {
    if (typeof api_time !== 'number' || typeof ttft !== 'number' || api_time <= ttft) continue;
    tokens += out;
    ms += (api_time - ttft) * 1000;
  }
  return ms > 0 ? { written: { tokens, ms } } : {};
}

/** The session itself, then each of its sub-agents: they have contexts of their own. */
function sessionsOf(label: string, entries: readonly KvCacheEntry[], preamble: CountedPreamble): Session[] {
  const requests = entries.flatMap((entry) => (entry.type === 'subagent' ? [] : entry));
  const subagents = entries.flatMap((entry) => (entry.type === 'subagent' ? entry : []));
  const rounds = requests.map((request, index) => roundOf(request, requests[index + 1]));
  return [
    ...(rounds.length > 0 ? [{ ...countedSession(label, preamble, rounds), ...writtenIn(requests) }] : []),
    ...subagents.flatMap((subagent, index) =>
      // A sub-agent has instructions and tools of its own, which the trace does not tell apart from its context.
      sessionsOf(`${label}, sub-agent ${index + 1}`, subagent.requests, preambleOf(0, 0)),
    ),
  ];
}

function read(document: TraceDocument): readonly Session[] {
  const trace = checked(kvCacheSchema, document, { line: 0, value: document.value });
  const sessions = sessionsOf(
    trace.id,
    trace.requests,
    preambleOf(trace.system_tokens ?? 0, trace.tool_tokens ?? 0),
  );
  if (sessions.length === 0) throw document.fault(0, ['requests'], 'expected at least one request');
  return sessions;
}

export const kvCache: TraceFormat = {
  name: 'kv-cache-tester',
  from: 'trace_*.json of github.com/callanjfox/kv-cache-tester (token counts)',
  looksLike: ({ value }) =>
    isRecord(value) && 'requests' in value && ('block_size' in value || 'models' in value),
  read: (document) => Promise.resolve().then(() => read(document)),
};
