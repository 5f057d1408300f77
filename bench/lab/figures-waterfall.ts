/** Where the time of a rollout went, design under design: a figure from a trace. Pure. */
import type { ChromeTrace } from '../schema/trace.js';
import { colours, config, titled } from './figures-style.js';
import type { Figure } from './figures-parts.js';

/** The first turn reads the whole prompt, which is the same everywhere and hides the rest; these are like all that follow. */
const turnsShown = { first: 2, last: 4 };

const kinds = [
  { kind: 'network', colour: colours.grey.light },
  { kind: 'service', colour: colours.amber.light },
  { kind: 'service, beside', colour: colours.red.light },
  { kind: 'admission', colour: colours.purple.light },
  { kind: 'prefill', colour: colours.green.light },
  { kind: 'decode', colour: colours.blue.light },
  { kind: 'tools', colour: colours.ink.light },
];
const laneOrder = ['network', 'service', 'model', 'client'];

interface Bar {
  readonly arm: string;
  readonly lane: string;
  readonly kind: string;
  readonly turn: number;
  readonly from: number;
  readonly to: number;
}

function kindOf(cat: string, name: string): string {
  if (cat === 'overlapped') return 'service, beside';
  return cat === 'network' || cat === 'service' ? cat : name;
}

function bars({ traceEvents }: ChromeTrace): Bar[] {
  const arms = new Map(
    traceEvents.flatMap((event) =>
      event.ph === 'M' && event.name === 'process_name' ? [[event.pid, event.args.name] as const] : [],
    ),
  );
  return traceEvents.flatMap((event) =>
    event.ph === 'X'
      ? {
          arm: arms.get(event.pid) ?? String(event.pid),
          lane: event.cat === 'overlapped' ? 'service' : event.cat,
          kind: kindOf(event.cat, event.name),
          turn: event.args.turn,
          from: event.ts / 1000,
          to: (event.ts + event.dur) / 1000,
        }
      : [],
  );
}

/** From the moment at which the first turn shown was ready. */
function shown(all: readonly Bar[]): Bar[] {
  const { first, last } = turnsShown;
  const some = all.filter(({ turn }) => turn >= first && turn <= last);
  const kept = some.length > 0 ? some : all;
  return [...new Set(kept.map(({ arm }) => arm))].flatMap((arm) => {
    const own = kept.filter((one) => one.arm === arm);
    const start = Math.min(...own.map(({ from }) => from));
    return own.map((one) => ({ ...one, from: one.from - start, to: one.to - start }));
  });
}

/** The figure of a trace. */
export function waterfall(trace: ChromeTrace): Figure {
  const { engine, scenario, profile, tokens_per_second, rtt_ms, rollout } = trace.otherData;
  const values = shown(bars(trace));
  const turns = [...new Set(values.map(({ turn }) => turn))];
  const title = `Where the time goes: turns ${Math.min(...turns)} to ${Math.max(...turns)} of one rollout`;
  const present = kinds.filter(({ kind }) => values.some((one) => one.kind === kind));
  return {
    name: 'waterfall',
    title,
    spec: {
      config,
      title: titled(title, [
        `${engine === 'real' ? 'Measured' : 'Virtual time'}: rollout ${rollout} of ${scenario}, profile ${profile}, ` +
          `${tokens_per_second} tokens/s, RTT ${rtt_ms} ms.`,
        engine === 'real'
          ? 'Engine, sockets and server are real, model and tools simulated.'
          : 'The engine’s own code; network, model, tools and service costs are simulated.',
      ]),
      data: { values: [...values] },
      facet: {
        row: {
          field: 'arm',
          sort: [...new Set(values.map(({ arm }) => arm))],
          title: null,
          header: { labelAngle: 0, labelAlign: 'left', labelAnchor: 'middle' },
        },
      },
      spacing: 10,
      spec: {
        width: 640,
        height: { step: 13 },
        mark: { type: 'bar', height: 11 },
        encoding: {
          x: { field: 'from', type: 'quantitative', title: 'ms since the first of these turns was ready' },
          x2: { field: 'to' },
          y: { field: 'lane', type: 'nominal', sort: laneOrder, title: null },
          color: {
            field: 'kind',
            type: 'nominal',
            title: null,
            scale: { domain: present.map(({ kind }) => kind), range: present.map(({ colour }) => colour) },
            legend: { orient: 'bottom', columns: 7 },
          },
        },
      },
    },
  };
}
