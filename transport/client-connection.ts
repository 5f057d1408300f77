/** What a client's two ways to a server, a socket and HTTP, have in common. */
import { errorBodySchema } from '../engine/protocol/server-events.js';
import type { serverEventSchema, ServerEvent, trustedServerEventSchema } from '../engine/index.js';
import { RolloutError } from './client-report.js';
import type { ClientRun } from './client-run.js';
import type { ClientDialect } from './designs.js';

export interface ClientConnection extends AsyncDisposable {
  readonly open: boolean;
  /** Resolves when it has closed, by whichever side. */
  readonly closed: Promise<void>;
  /** Starts a run, now or when its turn comes. */
  run(run: ClientRun): void;
  /** @throws Error where there is no socket. */
  send(event: object): number;
}

export interface ConnectionParts {
  /** Of creates and upgrades, with the design in its query. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whom to trust over `https`; empty for the default. */
  readonly tls: { readonly ca?: string };
  readonly dialect: ClientDialect;
  readonly schema: typeof serverEventSchema | typeof trustedServerEventSchema;
  /** Every event that comes. */
  readonly onEvent: (event: ServerEvent) => void;
}

/** The error in a server's answer, in its own words where it has any. */
export function refusalOf(code: string, what: string, status: number, body: string): RolloutError {
  const said = `The server refused the ${what} with status ${status}`;
  const error = errorIn(body);
  return new RolloutError(
    code === 'request_refused' ? (error?.code ?? code) : code,
    error === null ? `${said}.` : `${said}: ${error.message}`,
    { status },
  );
}

function errorIn(body: string): { readonly code: string; readonly message: string } | null {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = typeof parsed === 'object' && parsed !== null && 'error' in parsed ? parsed.error : null;
    return errorBodySchema.safeParse(error).data ?? null;
  } catch {
    return null;
  }
}

/** @throws RolloutError where the text is no event of the protocol. */
export function eventOf({ schema }: ConnectionParts, text: string): ServerEvent {
  try {
    return schema.parse(JSON.parse(text));
  } catch (fault) {
    throw new RolloutError('invalid_event', `The server sent no event: ${String(fault)}`);
  }
}

/** Whether nothing comes after it of its response. */
export function isTerminal({ type }: ServerEvent): boolean {
  return type === 'response.completed' || type === 'response.failed' || type === 'response.incomplete';
}
