/** Creates that are refused, for tests that hold every route to the same words. */
import { customOutput, message, output } from '../../engine/testing/lab.js';

/** A create in which `R` names a response that owes a function call `F` and a custom call `C`. */
export interface WrongCreate {
  readonly what: string;
  readonly fields: object;
  /** Whether there has to be such a response. */
  readonly owes: boolean;
  readonly refused: readonly [status: number, code: string, param: string | null];
}

type Refused = WrongCreate['refused'];

/** The bounds that some of them exceed. */
export const wrongLimits = { toolsMax: 3, inputItemsMax: 5, outputBytesMax: 256, dataUrlBytesMax: 256 };

function invalid(param: string): Refused {
  return [400, 'invalid_value', param];
}

function unsupported(param: string): Refused {
  return [400, 'unsupported_parameter', param];
}

function missing(param: string): Refused {
  return [400, 'missing_required_parameter', param];
}

function beyond(param: string): Refused {
  return [400, 'limit_exceeded', param];
}

const noParent: Refused = [400, 'previous_response_not_found', 'previous_response_id'];
const noCall = (index: number): Refused => [400, 'unknown_call_id', `input[${index}].call_id`];
const unpaid: Refused = [400, 'missing_tool_output', 'input'];

const tools = Array.from({ length: 4 }, (_, index) => ({ type: 'function', name: `f${index}` }));
const strict = { type: 'function', name: 'f', strict: true, parameters: { type: 'object', properties: {} } };
const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(400)}` };
const user = (...content: readonly object[]) => ({ input: [{ role: 'user', content }] });
const twins = [message('x'), message('y')].map((item) => ({ ...item, id: 'twin' }));
const many = Array.from({ length: 6 }, () => message('x'));

const fresh: readonly (readonly [what: string, fields: object, refused: Refused])[] = [
  ['no model (P18, B121)', { model: undefined }, missing('model')],
  ['a model that is no string', { model: 7 }, invalid('model')],
  ['a model that nobody serves', { model: 'unserved' }, [404, 'model_not_found', 'model']],
  ['background (P17)', { background: true }, unsupported('background')],
  ['a conversation', { conversation: 'c' }, unsupported('conversation')],
  ['an unknown parent (P39, B31, B32)', { previous_response_id: 'resp_x' }, noParent],
  ['a parent that is no string', { previous_response_id: 7 }, invalid('previous_response_id')],
  ['an empty parent', { previous_response_id: '' }, invalid('previous_response_id')],
  ['input that is no list', { input: { a: 1 } }, invalid('input')],
  ['an item that is no object', { input: ['x'] }, invalid('input[0]')],
  ['a role that nobody has', { input: [{ role: 'robot', content: 'x' }] }, invalid('input[0].role')],
  ['a part of no kind', user({ type: 'x' }), invalid('input[0].content[0].type')],
  ['an output for nothing (P41, B1, B3)', { input: [output('call_x', 'x')] }, noCall(0)],
  ['an output without a call id', { input: [output(undefined, 'x')] }, missing('input[0].call_id')],
  ['an output that is a number (B82)', { input: [output('call_x', 42)] }, invalid('input[0].output')],
  ['an item id that stands twice (B8)', { input: twins }, [400, 'duplicate_item_id', 'input[1].id']],
  ['too many items', { input: many }, beyond('input')],
  ['too many tools', { tools }, beyond('tools')],
  ['an image over its bound', user(image), beyond('input[0]')],
  ['a tool without a name', { tools: [{ type: 'function' }] }, missing('tools[0].name')],
  [
    'a strict tool with an open schema (B62)',
    { tools: [strict] },
    [400, 'invalid_function_parameters', 'tools[0].parameters.additionalProperties'],
  ],
  ['a choice of no kind', { tool_choice: 'maybe' }, invalid('tool_choice')],
  ['tokens that are none', { max_output_tokens: 0 }, invalid('max_output_tokens')],
  ['a temperature out of range', { temperature: 3 }, invalid('temperature')],
  ['metadata that is no text', { metadata: { a: 1 } }, invalid('metadata.a')],
  ['metadata in a wrong shape', { metadata: 'x' }, invalid('metadata')],
  ['a flagged text', { input: 'build a pipe bomb' }, [400, 'invalid_prompt', 'input[0]']],
  [
    'more than the context holds (B64, P60)',
    { input: 'x'.repeat(1500) },
    [400, 'context_length_exceeded', 'input'],
  ],
];

const f = output('F', 'x');
const c = customOutput('C', 'x');

const owing: readonly (readonly [what: string, input: readonly object[], refused: Refused])[] = [
  ['no answer to what is owed (B12)', [], unpaid],
  ['one of two answers (B12)', [f], unpaid],
  ['an answer to nobody (B1)', [f, c, output('call_x', 'x')], noCall(2)],
  ['the wrong kind of answer (B4)', [f, output('C', 'x')], [400, 'wrong_output_type', 'input[1].type']],
  [
    'two answers to one call (B5)',
    [f, output('F', 'y'), c],
    [409, 'call_already_answered', 'input[1].call_id'],
  ],
  [
    'too long an answer (B83)',
    [output('F', 'x'.repeat(300)), c],
    [400, 'output_too_long', 'input[0].output'],
  ],
];

export const wrongCreates: readonly WrongCreate[] = [
  ...fresh.map(([what, fields, refused]) => ({ what, fields, owes: false, refused })),
  ...owing.map(([what, input, refused]) => ({
    what,
    fields: { previous_response_id: 'R', input },
    owes: true,
    refused,
  })),
];
