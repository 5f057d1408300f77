/**
 * The stages every Response passes: validate, admit, resolve, classify and render before inference; validate, admit,
 * classify and render at an append, over its new items only; classify, format, store and bill after it.
 */
import { classifier, type Rule } from './classify.js';
import { formatStage } from './format-stage.js';
import type { Limits } from './limits.js';
import type { Clock, Store, Tokenizer } from './ports.js';
import { ProtocolError } from './protocol/errors.js';
import {
  isOpaque,
  isSampled,
  isToolOutput,
  type InputPart,
  type Item,
  type MessagePart,
} from './protocol/items.js';
import { isRecord, parse } from './protocol/parse.js';
import { appendInputSchema, createRequestSchema, type CreateRequest } from './protocol/requests.js';
import { renderStage } from './render-stage.js';
import { callableTools } from './samplers/choice.js';
import type { Sampler } from './samplers/sampler.js';
import { isSameJson } from './same-json.js';
import type { Passage, Stage } from './stages.js';

export interface StandardStageParts {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly rules: readonly Rule[];
  readonly store: Store;
  readonly tokenizer: Tokenizer;
  /** The sampler behind a model name, or null for a name nobody serves. */
  readonly model: (name: string) => Sampler | null;
  /** Responses alive now, the one that is being admitted included. */
  readonly live: () => number;
}

/** What the zod schema cannot say: fields that exclude each other or that this service does not have. */
function refuseUnsupported(request: CreateRequest): void {
  if (request.background === true)
    throw new ProtocolError('unsupported_parameter', 'background:true is not supported; leave it out.', {
      param: 'background',
    });
  if (request.conversation !== undefined && request.conversation !== null)
    throw request.previous_response_id === undefined || request.previous_response_id === null
      ? new ProtocolError(
          'unsupported_parameter',
          'conversation is not supported; use previous_response_id.',
          {
            param: 'conversation',
          },
        )
      : new ProtocolError('invalid_value', 'previous_response_id and conversation exclude each other.', {
          param: 'conversation',
        });
}

/** A demand that no declared tool can meet would fail the turn. */
function refuseIdleDemand({ tool_choice: choice, tools }: CreateRequest): void {
  const declared = tools ?? [];
  if (choice === 'required' && declared.length === 0)
    throw new ProtocolError('invalid_value', 'tool_choice demands a call, and no tool is declared.', {
      param: 'tool_choice',
    });
  if (typeof choice !== 'object' || choice === null || choice.type === 'allowed_tools') return;
  if (!callableTools(declared).some(({ type, name }) => type === choice.type && name === choice.name))
    throw new ProtocolError(
      'invalid_value',
      `tool_choice names "${choice.name}", which is not declared in tools.`,
      {
        param: 'tool_choice',
      },
    );
}

const toollessSchema = createRequestSchema.omit({ tools: true });

/**
 * The create, validated. One that continues a Response sends the same tools again as a rule: those have been looked at, and
 * their schemas are most of what there is to look at.
 */
function requestOf({ raw, kept }: Passage): CreateRequest {
  const tools = kept?.preamble.tools ?? [];
  if (tools.length === 0 || !isRecord(raw) || !isSameJson(raw['tools'], tools))
    return parse(createRequestSchema, raw);
  const request: CreateRequest = parse(toollessSchema, raw);
  request.tools = tools;
  return request;
}

const validate: Stage = {
  name: 'validate',
  phases: ['pre', 'append'],
  reads: 'new',
  refuses: true,
  critical: true,
  essential: true,
  run(passage) {
    if (passage.phase === 'append') {
      passage.newItems = passage.accept(parse(appendInputSchema, passage.raw, ['input']));
      return;
    }
    passage.request = requestOf(passage);
    refuseUnsupported(passage.request);
    refuseIdleDemand(passage.request);
    passage.newItems = passage.accept(passage.request.input);
  },
};

function partsOf(item: Item): readonly (InputPart | MessagePart)[] {
  if (isOpaque(item)) return [];
  if (isToolOutput(item)) return typeof item.output === 'string' ? [] : item.output;
  return item.type === 'message' && typeof item.content !== 'string' ? item.content : [];
}

function outputLength(item: Item): number {
  if (isOpaque(item) || !isToolOutput(item)) return 0;
  if (typeof item.output === 'string') return item.output.length;
  return item.output.reduce((sum, part) => sum + (part.type === 'input_text' ? part.text.length : 0), 0);
}

function refuseOversize(items: readonly Item[], limits: Limits): void {
  if (items.length > limits.inputItemsMax)
    throw new ProtocolError('limit_exceeded', `At most ${limits.inputItemsMax} items in one input.`, {
      param: 'input',
    });
  items.forEach((item, index) => {
    const length = outputLength(item);
    if (length > limits.outputBytesMax)
      throw new ProtocolError(
        'output_too_long',
        `The output is ${length} characters long; at most ${limits.outputBytesMax} are taken. Shorten it and send it again.`,
        { param: `input[${index}].output` },
      );
    for (const part of partsOf(item)) {
      const url =
        part.type === 'input_image' ? part.image_url : part.type === 'input_file' ? part.file_data : null;
      if ((url?.length ?? 0) > limits.dataUrlBytesMax)
        throw new ProtocolError(
          'limit_exceeded',
          `At most ${limits.dataUrlBytesMax} characters in one image or file.`,
          {
            param: `input[${index}]`,
          },
        );
    }
  });
}

function admitStage({ limits, live }: StandardStageParts): Stage {
  return {
    name: 'admit',
    phases: ['pre', 'append'],
    reads: 'new',
    refuses: true,
    critical: true,
    run(passage, items) {
      if (passage.phase === 'pre' && live() > limits.liveResponsesMax)
        throw new ProtocolError(
          'rate_limit_exceeded',
          `The server holds ${limits.liveResponsesMax} live responses, suspended ones included; try again later.`,
          { retryAfterSeconds: 1 },
        );
      if ((passage.request.tools?.length ?? 0) > limits.toolsMax)
        throw new ProtocolError('limit_exceeded', `At most ${limits.toolsMax} tools.`, { param: 'tools' });
      refuseOversize(items, limits);
    },
  };
}

function resolveStage({ model }: StandardStageParts): Stage {
  return {
    name: 'resolve',
    phases: ['pre'],
    reads: 'new',
    refuses: true,
    critical: true,
    essential: true,
    run(passage) {
      passage.sampler = model(passage.request.model);
      if (passage.sampler === null)
        throw new ProtocolError('model_not_found', `No model "${passage.request.model}" is served here.`, {
          param: 'model',
        });
    },
  };
}

function classifyStage({ rules, clock }: StandardStageParts): Stage {
  const classify = classifier(rules, clock);
  return {
    name: 'classify',
    phases: ['pre', 'append', 'post'],
    reads: 'new',
    refuses: true,
    critical: true,
    run(passage, items) {
      const read = passage.phase === 'post' ? items.filter(isSampled) : items;
      const refuse = (finding: Awaited<ReturnType<typeof classify>>): void => {
        if (finding !== null)
          throw new ProtocolError('invalid_prompt', `The text was flagged by the rule "${finding.rule}".`, {
            param: `input[${finding.index}]`,
          });
      };
      const finding = classify(read, passage.signal);
      return finding instanceof Promise ? finding.then(refuse) : refuse(finding);
    },
  };
}

function storeStage({ store }: StandardStageParts): Stage {
  return {
    name: 'store',
    phases: ['post'],
    reads: 'new',
    refuses: false,
    critical: true,
    run({ responseId, credential, kept, transcript, request, outcome, signal }, items) {
      if (request.store === false) return;
      const stored = {
        id: responseId,
        credential,
        // Not the id the request names: that may be one of several responses of the same rollout.
        previous_response_id: kept?.responseId ?? null,
        inherited: transcript.length,
        request,
        items,
        status: outcome?.status ?? 'failed',
      };
      return store.save(stored, signal);
    },
  };
}

function billStage({ store }: StandardStageParts): Stage {
  return {
    name: 'bill',
    phases: ['post'],
    reads: 'new',
    refuses: false,
    critical: false,
    async run({ responseId, credential, request, outcome, usage, signal }) {
      const uncached = usage?.read ?? 0;
      const output = usage?.output ?? 0;
      const bill = {
        response_id: responseId,
        credential,
        model: request.model,
        uncached_input_tokens: uncached,
        cached_input_tokens: usage?.held ?? 0,
        output_tokens: output,
        reasoning_tokens: usage?.reasoning ?? 0,
        status: outcome?.status ?? 'failed',
      };
      await store.charge(bill, signal);
      return { tokens: uncached + output };
    },
  };
}

export function standardStages(parts: StandardStageParts): Stage[] {
  return [
    validate,
    admitStage(parts),
    resolveStage(parts),
    classifyStage(parts),
    renderStage(parts.tokenizer),
    formatStage,
    storeStage(parts),
    billStage(parts),
  ];
}
