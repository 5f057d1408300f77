/** Schemas that choose by a field and then say what is wrong inside: a failed union would only name its branches. */
import { z } from 'zod';

/** A schema that parses with whichever schema `choose` names for a value; a string is the refusal itself. */
export function dispatched<T>(choose: (raw: unknown) => z.ZodType<T> | string): z.ZodType<T> {
  return z.transform((raw: unknown, context): T => {
    const chosen = choose(raw);
    if (typeof chosen === 'string') {
      context.addIssue({ code: 'custom', message: chosen });
      return z.NEVER;
    }
    const parsed = chosen.safeParse(raw);
    if (parsed.success) return parsed.data;
    for (const { code, message, path, ...rest } of parsed.error.issues)
      context.addIssue({
        code: 'custom',
        message:
          code === 'unrecognized_keys' && 'keys' in rest ? `unknown field ${String(rest.keys)}` : message,
        path: [...path],
      });
    return z.NEVER;
  });
}

/** The `type` of a raw object, if it has one. */
export function typeOf(raw: unknown): unknown {
  return typeof raw === 'object' && raw !== null && 'type' in raw ? raw.type : undefined;
}
