/**
 * The built-in classifier: rules over text, deterministic and auditable. It stands where a service runs its safety
 * models: real work over every new token, with a real refusal. An embedder replaces it with a better one.
 */
import type { Clock } from './ports.js';
import { isOpaque, isToolOutput, type Item } from './protocol/items.js';

export interface Rule {
  readonly name: string;
  readonly pattern: RegExp;
}

/** Intent and object must stand close together; a tool output that merely mentions one of them passes. */
export const defaultRules: readonly Rule[] = [
  {
    name: 'weapons',
    pattern: /\b(?:build|make|assemble|construct)\s+(?:an?\s+)?(?:pipe|nail|dirty|fertili[sz]er)\s+bomb\b/i,
  },
  {
    name: 'chemical-weapons',
    pattern:
      /\b(?:synthesi[sz]e|produce|manufacture|brew)\s+(?:\w+\s){0,2}(?:sarin|vx|novichok|mustard gas|ricin)\b/i,
  },
  {
    name: 'malware',
    pattern:
      /\b(?:write|create|build|code)\s+(?:\w+\s){0,3}(?:ransomware|keylogger|self-replicating worm)\b/i,
  },
  { name: 'self-harm', pattern: /\bhow\s+(?:do|can|should)\s+i\s+(?:kill|hang)\s+myself\b/i },
];

/** Characters scanned before the event loop gets a turn, and how far a slice reaches back at least, so that no match is cut. */
const sliceChars = 256 * 1024;
const overlapChars = 256;

function* textsOf(item: Item): Generator<string, void> {
  if (isOpaque(item)) yield JSON.stringify(item);
  else if (item.type === 'function_call') yield item.arguments;
  else if (item.type === 'custom_tool_call') yield item.input;
  else if (item.type === 'reasoning')
    for (const part of [...item.summary, ...(item.content ?? [])]) yield part.text;
  else {
    const content = isToolOutput(item) ? item.output : item.content;
    if (typeof content === 'string') yield content;
    else
      for (const part of content) {
        if ('text' in part) yield part.text;
        else if (part.type === 'refusal') yield part.refusal;
      }
  }
}

function firstMatch(text: string, rules: readonly Rule[]): string | null {
  // `search`, because `test` of a global pattern goes on from its last match.
  return rules.find((rule) => text.search(rule.pattern) >= 0)?.name ?? null;
}

/** Where the word around `at` ends, so that no slice takes part of a word for a word; a long run is cut all the same. */
function wordEnd(text: string, at: number): number {
  const limit = Math.min(text.length, at + overlapChars);
  let end = at;
  while (end > 0 && end < limit && /^\w\w$/.test(text.slice(end - 1, end + 1))) end++;
  return end;
}

async function inSlices(
  text: string,
  rules: readonly Rule[],
  clock: Clock,
  signal: AbortSignal,
): Promise<string | null> {
  for (let start = 0; start < text.length; start += sliceChars) {
    const from = wordEnd(text, Math.max(0, start - 2 * overlapChars));
    const found = firstMatch(text.slice(from, wordEnd(text, start + sliceChars)), rules);
    if (found !== null) return found;
    await clock.breathe();
    signal.throwIfAborted();
  }
  return null;
}

export interface Finding {
  readonly rule: string;
  /** Index of the flagged item among those given. */
  readonly index: number;
}

/** The first flagged item, or null. A promise only where a text is long. */
export function classifier(rules: readonly Rule[], clock: Clock) {
  return (items: readonly Item[], signal: AbortSignal): Finding | null | Promise<Finding | null> => {
    const long: { text: string; index: number }[] = [];
    for (const [index, item] of items.entries())
      for (const text of textsOf(item)) {
        if (text.length > sliceChars) long.push({ text, index });
        else {
          const rule = firstMatch(text, rules);
          if (rule !== null) return { rule, index };
        }
      }
    return long.length === 0 ? null : firstLong(long, rules, clock, signal);
  };
}

async function firstLong(
  long: readonly { text: string; index: number }[],
  rules: readonly Rule[],
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding | null> {
  for (const { text, index } of long) {
    const rule = await inSlices(text, rules, clock, signal);
    if (rule !== null) return { rule, index };
  }
  return null;
}
