/** Where requests go: the URL that was given, as an origin and a path, and which of the two APIs answers there. */
export type UpstreamApi = 'chat' | 'responses';

/** Whose server it is, as far as its address tells: it decides about fields that others refuse. */
export type Host = 'openai' | 'loopback' | 'other';

export interface Endpoint {
  readonly api: UpstreamApi;
  readonly origin: string;
  /** With the query, where the URL has one. */
  readonly path: string;
  readonly host: Host;
}

const paths = { chat: '/chat/completions', responses: '/responses' } as const;

function hostOf(hostname: string): Host {
  if (/(?:^|\.)openai\.(?:com|azure\.com)$/.test(hostname)) return 'openai';
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) ? 'loopback' : 'other';
}

/**
 * Reads `http://host/v1`, or the whole address of either API. A path that ends in neither is a base.
 * @throws RangeError where it is no http URL, carries a user or password, or names the other API. The text of the URL
 * is not in the message, because it may hold a secret.
 */
export function endpointOf(url: string, asked: UpstreamApi | undefined): Endpoint {
  if (!URL.canParse(url))
    throw new RangeError('upstream url: expected an address such as http://127.0.0.1:8000/v1');
  const { protocol, origin, hostname, pathname, search, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new RangeError('upstream url: expected http or https');
  if (username !== '' || password !== '')
    throw new RangeError('upstream url: a key does not belong into the address; give it as key');
  const base = pathname.replace(/\/+$/, '');
  const named = (['chat', 'responses'] as const).find((api) => base.endsWith(paths[api]));
  if (named !== undefined && asked !== undefined && named !== asked)
    throw new RangeError(`upstream url: the address is that of the ${named} API, and api is ${asked}`);
  const api = named ?? asked ?? 'chat';
  const path = named === undefined ? `${base}${paths[api]}` : base;
  return { api, origin, path: `${path}${search}`, host: hostOf(hostname) };
}
