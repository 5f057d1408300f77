/** What a `tool_choice`, as a response echoes it, says of the calls that may come (P57). */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Whether a choice demands a call: `required`, a named tool, or `allowed_tools` with that mode. */
export function demands(choice: unknown): boolean {
  if (!isRecord(choice)) return choice === 'required';
  return choice['type'] !== 'allowed_tools' || choice['mode'] === 'required';
}

/** The names that `allowed_tools` allows; null for any other choice. A named tool binds the first turn alone. */
export function allowedNames(choice: unknown): unknown[] | null {
  if (!isRecord(choice) || choice['type'] !== 'allowed_tools' || !Array.isArray(choice['tools'])) return null;
  return choice['tools'].map((tool: unknown) => (isRecord(tool) ? tool['name'] : null));
}
