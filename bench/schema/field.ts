/**
 * Fields of result files, each with its unit and meaning beside its type: the schema is the data dictionary. `fieldsOf`
 * reads it back as lines.
 */
import { z } from 'zod';

const number = (unit: string) => (about: string) => z.number().meta({ unit, description: about });

/** Milliseconds. */
export const ms = number('ms');
export const us = number('µs');
export const bytes = number('bytes');
export const tokens = number('tokens');
export const perSecond = (what: string, about: string) => number(`${what}/s`)(about);
/** A ratio; 1 is 100 %. */
export const ratio = number('1');
export const count = number('count');
export const text = (about: string) => z.string().meta({ unit: 'text', description: about });
export const flag = (about: string) => z.boolean().meta({ unit: 'true or false', description: about });
export const oneOf = <const Words extends readonly string[]>(words: Words, about: string) =>
  z.enum(words).meta({ unit: words.join(', '), description: about });
/** The same, or null where there is none. */
export const orNull = <Inner extends z.ZodType>(inner: Inner) => inner.nullable();
/** One thing by name, of no fixed names. */
export const named = <Inner extends z.ZodType>(inner: Inner, about: string) =>
  z.record(z.string(), inner).meta({ unit: 'by name', description: about });
export interface Field {
  /** As a reader writes it: `frontier[].points[].residual_ms`. */
  readonly path: string;
  readonly unit: string;
  readonly about: string;
}

type Node = z.core.JSONSchema._JSONSchema;

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function leaf(path: string, { description = '', ['unit']: unit }: z.core.JSONSchema.BaseSchema): Field {
  return { path, unit: typeof unit === 'string' ? unit : '', about: description };
}

function walk(path: string, node: Node): Field[] {
  if (typeof node === 'boolean') return [];
  const { properties, items, anyOf } = node;
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, inner]) => walk(joined(path, name), inner));
  if (items !== undefined && !Array.isArray(items)) return walk(`${path}[]`, items);
  // Null beside one other shape: the field is that shape's.
  const other = anyOf?.find((one) => typeof one !== 'boolean' && one.type !== 'null');
  const fields = other === undefined ? [leaf(path, node)] : walk(path, other);
  return fields.map((field) => (anyOf === undefined ? field : { ...field, unit: `${field.unit} or null` }));
}

/** Every field of a schema, in its order. One without unit or meaning has them empty. */
export function fieldsOf(schema: z.ZodType): Field[] {
  return walk('', z.toJSONSchema(schema, { unrepresentable: 'any', io: 'output' }));
}
