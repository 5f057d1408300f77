/** Numbers from the command line: refused with a sentence where they make no sense. */
import { InvalidArgumentError } from 'commander';

function numberFrom(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = numberFrom(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    const most = max === Number.MAX_SAFE_INTEGER ? 'up' : `to ${max}`;
    throw new InvalidArgumentError(`Expected a whole number from ${min} ${most}, got "${text}".`);
  };
}

/** A time that may be none. */
export function milliseconds(text: string): number {
  const value = numberFrom(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError(`Expected a number of milliseconds from 0 up, got "${text}".`);
}

/** A number above 0; `Infinity` where something may take no time at all. */
export function positiveNumber(text: string): number {
  const value = numberFrom(text);
  if (value > 0) return value;
  throw new InvalidArgumentError(`Expected a number above 0, or Infinity, got "${text}".`);
}

export function share(text: string): number {
  const value = numberFrom(text);
  if (value >= 0 && value <= 1000) return value;
  throw new InvalidArgumentError(`Expected a number from 0 to 1000, got "${text}".`);
}

/** An address with a scheme a socket can be opened at. */
export function serverUrl(text: string): string {
  if (URL.canParse(text) && /^(?:http|https|ws|wss):$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError(`Expected an address such as http://127.0.0.1:8080, got "${text}".`);
}

/**
 * A key from the environment, or undefined where there is none. A name that was asked for has to be set. The text is not
 * repeated where it is no name, because it may be a key, and a key given here would stand in the list of processes.
 */
export function keyFrom(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  asked: boolean,
): string | undefined {
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw new Error(
      '--upstream-key-env: expected the name of an environment variable, such as OPENAI_API_KEY.',
    );
  const key = environment[name]?.trim();
  if (key !== undefined && key !== '') return key;
  if (asked) throw new Error(`--upstream-key-env: the environment has no ${name}.`);
  return undefined;
}

export function collected(value: string, before: string[]): string[] {
  return [...before, value];
}
