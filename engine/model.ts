/** The model behind a rollout: its sampler, and the session that is open on it. */
import type { CreateRequest } from './protocol/requests.js';
import type { Sampler, SamplerSession } from './samplers/sampler.js';

export class Model {
  readonly sampler: Sampler;
  readonly #request: CreateRequest;
  readonly #whole: string;
  #session: SamplerSession;
  /** How often the context was shortened: each time the model begins anew. */
  #beginnings = 0;

  /** @param conversation names the conversation across Responses. */
  constructor(sampler: Sampler, request: CreateRequest, conversation: string) {
    this.sampler = sampler;
    this.#request = request;
    this.#whole = conversation;
    this.#session = sampler.open({ conversation, request });
  }

  get session(): SamplerSession {
    return this.#session;
  }

  /** What a continuation has to name to find this model's state. */
  get conversation(): string {
    return this.#beginnings === 0 ? this.#whole : `${this.#whole}~${this.#beginnings}`;
  }

  /** The context that the session knows is no more: a new one begins. */
  reopen(): void {
    this.#session.release();
    this.#beginnings++;
    this.#session = this.sampler.open({ conversation: this.conversation, request: this.#request });
  }

  release(): void {
    this.#session.release();
  }
}
