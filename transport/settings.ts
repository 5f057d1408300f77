/** The settings of a create: what has to be the same for it to go on with the rollout of an earlier one. */
import { createHash } from 'node:crypto';

import { createRequestSchema } from '../engine/protocol/requests.js';
import type { CreateFields } from './continuity.js';

/** What each create says for itself. */
const ownWords = new Set([
  'input',
  'previous_response_id',
  'generate',
  'metadata',
  'client_metadata',
  'stream',
  'stream_options',
]);

const settings = Object.keys(createRequestSchema.shape).filter((field) => !ownWords.has(field));

/** Equal for two creates whose settings are written the same; fields that nobody reads do not count. */
export class SettingsKeys {
  /** The settings that came last, and their key: a client says the same at every turn of a rollout. */
  #said = '';
  #key = '';

  of(create: CreateFields): string {
    const said = JSON.stringify(settings.map((field) => create[field] ?? null));
    if (said !== this.#said) {
      this.#said = said;
      this.#key = createHash('sha256').update(said).digest('base64');
    }
    return this.#key;
  }
}
