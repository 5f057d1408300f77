/**
 * JSON Schemas of clients (draft 2020-12, the keywords function calling uses): the parameters of function tools, and
 * the format of answers. A strict one must close every object and require every property, as the public API demands,
 * because a permanent schema fault that is reported late is retried for ever.
 */
import { z } from 'zod';

import { dispatched } from './dispatch.js';

const jsonTypeSchema = z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

const count = z.int().min(0).optional();

/** A JSON Schema, checked for shape: unknown keywords are allowed, as the JSON Schema specification says. */
const jsonSchemaSchema: z.ZodType<JsonSchema> = dispatched<JsonSchema>((raw) =>
  typeof raw === 'boolean' ? z.boolean() : schemaObject,
);

const schemaObject = z.looseObject({
  type: z.union([jsonTypeSchema, z.array(jsonTypeSchema).min(1)]).optional(),
  properties: z.record(z.string(), jsonSchemaSchema).optional(),
  patternProperties: z.record(z.string(), jsonSchemaSchema).optional(),
  additionalProperties: jsonSchemaSchema.optional(),
  required: z.array(z.string()).optional(),
  items: jsonSchemaSchema.optional(),
  prefixItems: z.array(jsonSchemaSchema).optional(),
  enum: z.array(z.unknown()).optional(),
  anyOf: z.array(jsonSchemaSchema).min(1).optional(),
  oneOf: z.array(jsonSchemaSchema).min(1).optional(),
  allOf: z.array(jsonSchemaSchema).min(1).optional(),
  not: jsonSchemaSchema.optional(),
  $ref: z.string().optional(),
  $defs: z.record(z.string(), jsonSchemaSchema).optional(),
  definitions: z.record(z.string(), jsonSchemaSchema).optional(),
  description: z.string().optional(),
  title: z.string().optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
});

export type JsonSchema = boolean | JsonSchemaObject;
export interface JsonSchemaObject {
  type?: z.output<typeof jsonTypeSchema> | z.output<typeof jsonTypeSchema>[] | undefined;
  properties?: Record<string, JsonSchema> | undefined;
  additionalProperties?: JsonSchema | undefined;
  required?: string[] | undefined;
  items?: JsonSchema | undefined;
  anyOf?: JsonSchema[] | undefined;
  $defs?: Record<string, JsonSchema> | undefined;
  [keyword: string]: unknown;
}

type Path = readonly PropertyKey[];
export type Complain = (path: Path, message: string) => void;

function checkStrict(schema: JsonSchema, path: Path, complain: Complain): void {
  if (typeof schema === 'boolean') return;
  if (schema.type === 'object' || schema.properties !== undefined) {
    if (schema.additionalProperties !== false)
      complain(
        [...path, 'additionalProperties'],
        'a strict schema needs additionalProperties:false on every object',
      );
    const required = new Set(schema.required);
    const missing = Object.keys(schema.properties ?? {}).find((name) => !required.has(name));
    if (missing !== undefined)
      complain(
        [...path, 'required'],
        `a strict schema needs every property in required; "${missing}" is missing`,
      );
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    checkStrict(inner, [...path, 'properties', name], complain);
  for (const [name, inner] of Object.entries(schema.$defs ?? {}))
    checkStrict(inner, [...path, '$defs', name], complain);
  if (schema.items !== undefined) checkStrict(schema.items, [...path, 'items'], complain);
  schema.anyOf?.forEach((inner, index) => checkStrict(inner, [...path, 'anyOf', index], complain));
}

/** Objects and arrays within each other in one schema, `properties` counted too. The public API takes 10 levels. */
export const schemaDepthMax = 120;

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithin(inner, depth - 1));
}

/** Complains of what keeps a schema from being that of an object. */
export function checkObjectSchema(
  schema: Readonly<Record<string, unknown>>,
  strict: boolean,
  complain: Complain,
): void {
  if (!isWithin(schema, schemaDepthMax))
    return complain([], `at most ${schemaDepthMax} objects and arrays within each other`);
  const parsed = schemaObject.safeParse(schema);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) complain(issue.path, issue.message);
    return;
  }
  const { type } = parsed.data;
  if (type !== undefined && type !== 'object') complain(['type'], 'the schema must be one of an object');
  if (strict && Object.keys(schema).length > 0) checkStrict(parsed.data, [], complain);
}

export const functionToolSchema = z
  .looseObject({
    type: z.literal('function'),
    name: z.string().regex(/^[A-Za-z0-9_.-]{1,128}$/, 'expected 1 to 128 of A-Z a-z 0-9 _ . -'),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
  })
  .superRefine((tool, context) => {
    if (tool.parameters === null || tool.parameters === undefined) return;
    const complain: Complain = (path, message) =>
      context.addIssue({
        code: 'custom',
        path: ['parameters', ...path],
        message,
        params: { tool_schema: true },
      });
    checkObjectSchema(tool.parameters, tool.strict === true, complain);
  });
