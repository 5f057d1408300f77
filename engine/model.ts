/** The model behind a rollout: its sampler, and the session that is open on it. */
import type { CreateRequest } from './protocol/requests.js';
import type { Sampler, SamplerSession } from './samplers/sampler.js';

export class Model {
  readonly sampler: Sampler;
  readonly #request: CreateRequest;
  /** What a continuation has to name to find this model's state. A client that sends the whole history names it too. */
  readonly conversation: string;
  #session: SamplerSession;

  /** @param conversation names the conversation across Responses. */
  constructor(sampler: Sampler, request: CreateRequest, conversation: string) {
    this.sampler = sampler;
    this.#request = request;
    this.conversation = conversation;
    this.#session = sampler.open({ conversation, request });
  }

  get session(): SamplerSession {
    return this.#session;
  }

  /** The context that the session knows is no more: a new one begins. */
  reopen(): void {
    this.#session.release();
    this.#session = this.sampler.open({ conversation: this.conversation, request: this.#request });
  }

  release(): void {
    this.#session.release();
  }
}
