/** A whole log as one response per turn: each window begins with what resumes the rollout. */
import type { LogEntry } from '../log-entry.js';
import { VirtualResponse } from '../projection.js';
import type { ResponseObject, ServerEvent } from '../protocol/server-events.js';

export interface WindowsOptions {
  readonly mintId?: () => string;
  readonly unixSeconds?: () => number;
}

function counting(): () => string {
  let count = 1;
  return () => `virtual_${++count}`;
}

function resumes(entry: LogEntry): boolean {
  if (entry.type === 'response.append.accepted') return entry.required_input.length === 0;
  return 'output_index' in entry;
}

/** The first window has the id of `created`; the others get minted ones and name the one before. */
export function windowsOf(
  created: ResponseObject,
  entries: readonly LogEntry[],
  { mintId = counting(), unixSeconds = () => created.created_at }: WindowsOptions = {},
): ServerEvent[][] {
  const streams: ServerEvent[][] = [];
  let outputItems = 0;
  const open = (shown: ResponseObject): VirtualResponse => {
    const next = new VirtualResponse(shown, { outputItems, unixSeconds });
    streams.push(next.begin());
    return next;
  };
  let window = open(created);
  for (const entry of entries.slice(2)) {
    if (window.over && resumes(entry))
      window = open({ ...created, id: mintId(), previous_response_id: window.id });
    if (entry.type === 'response.output_item.added') outputItems = entry.output_index + 1;
    const event = window.over ? null : window.project(entry);
    if (event !== null) streams.at(-1)?.push(event);
  }
  return streams;
}
