/** What tests of the typed client run: one short rollout, in every design over both transports. */
import { call, message, say, turn } from '../../engine/testing/lab.js';
import type { ClientToolCall, RolloutReport } from '../client-report.js';
import { builtinDesigns, type Transport } from '../designs.js';
import { anonymous } from './events.js';

export const request = { model: 'm', input: [message('hi')] };

export const script = [
  turn(say('look'), call('a', '{"n":1}'), call('b', '{"n":2}')),
  turn(call('c')),
  turn(say('done')),
];

export const answer = async ({ name, turn: number, index }: ClientToolCall): Promise<string> =>
  `${name} ${number} ${index}`;

/** The client's own account of a rollout, as items that hold in any run. */
export function itemsOf(report: RolloutReport): unknown[] {
  return anonymous(report.items);
}

export const transports: readonly Transport[] = ['ws', 'http'];

export const spoken = builtinDesigns.flatMap(({ name: design, transports: own }) =>
  own.map((transport) => ({ design, transport, name: `${design} over ${transport}` })),
);
