/** Numbers of the README that state no measurement: what they look like, and why they need no result. */

export interface Allowed {
  readonly pattern: RegExp;
  readonly because: string;
}

/** Neither numbers nor citations in it count. */
export const unread: readonly Allowed[] = [
  { pattern: /^(?:```|~~~)[\s\S]*?^(?:```|~~~)/gm, because: 'code to run, not a statement' },
  {
    pattern: /^\| `[a-z-]+` +\| (?:\d+ real |constants: |drawn|one tool call ).*$/gm,
    because: 'a row of the table of scenarios: what their files hold',
  },
  { pattern: /`[^`\n]+`/g, because: 'code, a name or a word of the command line' },
];

const one = String.raw`(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)*`;
const many = `${one}(?:(?:, and |, or |, | and | or | / )${one})*`;

/** A space also stands for the end of a line. */
function saying(source: string): RegExp {
  return new RegExp(source.replaceAll(' ', String.raw`\s`), 'g');
}

/** Taken away one after the other, before what is left is held to results. */
export const allowed: readonly Allowed[] = [
  { pattern: /\]\([^)\n]*\)/g, because: 'the target of a link' },
  { pattern: /https?:\/\/[^\s)>]+/g, because: 'a link' },
  { pattern: /^ {0,3}\d+\. /gm, because: 'the number of a step in a list' },
  { pattern: saying(String.raw`\bgoes to \d+\b`), because: 'a step of a list, by its number' },
  { pattern: /\bv?\d+\.\d+\.\d+\b/g, because: 'a version' },
  {
    pattern: saying(String.raw`\b(?:Node|glibc|Python|TypeScript|TLS|version) ${many}`),
    because: 'versions that it runs on',
  },
  { pattern: /\bHTTP(?:\/|\s)\d[\d.]*/g, because: 'a version or a status of HTTP' },
  { pattern: saying(String.raw`\bport \d+\b`), because: 'a port' },
  {
    pattern: /(?:\d|\bn)(?: − \d)?(?: · (?:\d|n)(?: − \d)?){2}/g,
    because: 'passages in n turns, which follow from the design and are counted in a test',
  },
  { pattern: saying(String.raw`\b(\d+) of \1\b`), because: 'tests of a suite, all of which pass' },
  { pattern: saying(String.raw`\bnumbers from 0\b`), because: 'where numbering begins' },
  {
    pattern: saying(String.raw`\babout \d+ (?:seconds|minutes)\b`),
    because: 'what a command takes, to plan by',
  },
  {
    pattern: saying(String.raw`(?:≤|under|at most) \d+ minutes\b`),
    because: 'a bound that a command is held to',
  },
  {
    pattern: saying(String.raw`\b\d+ MB on disk\b`),
    because: 'the size of a package, as its registry has it',
  },
  { pattern: saying(String.raw`\b\d+ cores\b`), because: 'the machine' },
  {
    pattern: saying(
      String.raw`\b${many} (?:turns|tokens/s|tool calls|streams|suspended rollouts|rollouts|blocks|cells)\b(?! (?:a|per) \w)`,
    ),
    because: 'what was asked for: lengths, speeds and counts that a scenario or a command sets',
  },
  { pattern: saying(String.raw`\bturns? ${many}`), because: 'turns by their number' },
  {
    pattern: saying(String.raw`\b(?:passes|at least|below|under) 5 %|\b5 % threshold\b`),
    because: 'what counts as material, set before anything was measured',
  },
  { pattern: saying(String.raw`\b95 % (?:interval|bootstrap|BCa)`), because: 'the level of an interval' },
  {
    pattern: saying(String.raw`\bpublished (?:claims? of )?\d+ %(?:(?:, | and | / )\d+ %)*`),
    because: 'a claim of somebody else, which the results block judges',
  },
];
