/** The HTTP routes beside the socket: which path and method does what. A refusal has the words it has on a socket. */
import { ProtocolError, toProtocolError } from '../engine/index.js';
import type { MakeContinuity } from './continuity.js';
import { keptOf, previousId } from './continuation.js';
import type { Design } from './designs.js';
import type { Host } from './host.js';
import { bodyOf, json, notServed, refusal } from './http-answer.js';
import { compactInput } from './http-compact.js';
import { answerTurn } from './http-create.js';
import { cancelResponse, deleteResponse, inputItems, readResponse } from './http-read.js';
import { appendNative, createNative, type NativeParts } from './native-http.js';
import type { Answer, Exchange, StreamAnswer } from './socket.js';
import type { Streams } from './sse.js';

type Answers = Answer | StreamAnswer | Promise<Answer | StreamAnswer>;
type Route = (asked: Asked) => Answers;
/** By method, in the order in which a refusal names them. */
type Routes = Readonly<Record<string, Route>>;

/** One request whose caller is known. */
interface Asked extends NativeParts {
  readonly design: Design;
}

export interface HttpParts {
  readonly host: Host;
  /** @throws ProtocolError for a design that is not there. */
  readonly designOf: (exchange: Exchange) => Design;
  readonly continuityOf: (design: Design) => MakeContinuity;
  /** What `GET /v1/models` lists. */
  readonly models: readonly string[];
  /** Whether upgrades are let in. */
  readonly sockets: boolean;
}

/** Paths on which creates are taken and sockets are opened; the second is where one family of clients looks for them. */
export const createPaths: readonly string[] = ['/v1/responses', '/v1/codex/responses'];

export class Http {
  readonly #parts: HttpParts;
  readonly #streams: Streams = new Set();

  constructor(parts: HttpParts) {
    this.#parts = parts;
  }

  async answer(exchange: Exchange, credential: string): Promise<Answer | StreamAnswer> {
    const { host, designOf } = this.#parts;
    try {
      const routes = this.#routesOf(exchange.path);
      if (routes === null) throw notServed(exchange.path);
      const route = routeOf(routes, exchange.method);
      if (route === null) return wrongMethod(exchange, Object.keys(routes));
      return await route({ host, exchange, credential, streams: this.#streams, design: designOf(exchange) });
    } catch (fault) {
      if (!(fault instanceof ProtocolError)) host.failed(fault);
      const error = toProtocolError(fault);
      return refusal(error, error.code === 'upgrade_required' ? { upgrade: 'websocket' } : {});
    }
  }

  /** Ends every stream, behind what it has to say. */
  close(): void {
    for (const stream of this.#streams) stream.close();
  }

  #routesOf(path: string): Routes | null {
    if (createPaths.includes(path)) {
      const create: Route = (asked) => this.#create(asked);
      return this.#parts.sockets ? { POST: create, GET: socketOnly } : { POST: create };
    }
    const [, version, collection, id, act, ...rest] = path.split('/');
    if (version !== 'v1' || rest.length > 0) return null;
    if (collection === 'models' && act === undefined) return { GET: () => this.#models(id) };
    if (collection !== 'responses' || id === undefined || id === '') return null;
    switch (act) {
      case undefined:
        if (id === 'input_tokens') return { POST: (asked) => this.#inputTokens(asked) };
        if (id === 'compact') return { POST: (asked) => compactInput(asked, this.#bodyOf(asked)) };
        return {
          GET: (asked) => readResponse(asked, id, asked.design),
          DELETE: (asked) => deleteResponse(asked, id),
        };
      case 'input_items':
        return { GET: (asked) => inputItems(asked, id) };
      case 'cancel':
        return { POST: (asked) => cancelResponse(asked, id) };
      case 'append':
        return { POST: (asked) => appendNative(asked, id, this.#bodyOf(asked)) };
      default:
        return null;
    }
  }

  #bodyOf({ exchange }: Asked): Readonly<Record<string, unknown>> {
    return bodyOf(exchange, this.#parts.host.engine.limits.frameDepthMax);
  }

  #create(asked: Asked): Answers {
    const { host, exchange, credential, design } = asked;
    const create = this.#bodyOf(asked);
    if (design.dialect === 'append') return createNative(asked, design, create);
    const makeContinuity = this.#parts.continuityOf(design);
    const continuity = makeContinuity({ host, design, credential, connection: null });
    return answerTurn({ host, exchange, credential, streams: this.#streams, continuity }, create);
  }

  async #inputTokens(asked: Asked): Promise<Answer> {
    const { host, credential, exchange } = asked;
    const fields = host.turns.items.resolve(credential, this.#bodyOf(asked));
    const kept = await keptOf({ host, credential }, previousId(fields['previous_response_id']));
    const input_tokens = await host.engine.countInput(fields, kept, exchange.gone);
    return json(200, { object: 'response.input_tokens', input_tokens });
  }

  #models(encodedId: string | undefined): Answer {
    const id = encodedId === undefined ? undefined : decoded(encodedId);
    const listed = this.#parts.models.map((name) => ({
      id: name,
      object: 'model',
      created: 0,
      owned_by: 'long-response',
    }));
    if (id === undefined) return json(200, { object: 'list', data: listed });
    const found = listed.find((model) => model.id === id);
    if (found === undefined)
      throw new ProtocolError('model_not_found', `No model "${id.slice(0, 128)}" is served here.`, {
        param: 'model',
      });
    return json(200, found);
  }
}

function socketOnly(): never {
  throw new ProtocolError('upgrade_required', 'Open a WebSocket on this path, or POST a create to it.');
}

/** HEAD is answered as GET, less the body. */
function routeOf(routes: Routes, method: string): Route | null {
  const name = method === 'HEAD' ? 'GET' : method;
  return Object.hasOwn(routes, name) ? (routes[name] ?? null) : null;
}

function wrongMethod({ method, path }: Exchange, served: readonly string[]): Answer {
  const error = new ProtocolError(
    'method_not_allowed',
    `${method.slice(0, 16)} is not served at ${path.slice(0, 128)}; send ${served.join(' or ')}.`,
  );
  return refusal(error, { allow: served.join(', ') });
}

/** A name as it stands in a path; one that cannot be read stands for itself. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
