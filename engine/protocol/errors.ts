/**
 * Errors that cross the wire. A fault of the caller's own code is an ordinary `Error` and never leaves the process.
 *
 * Codes are data: each has one HTTP status and one type, the same on every route. Where a public client acts on a
 * code, the public spelling is kept (`previous_response_not_found`, `context_length_exceeded`, …).
 */
export const errorCodes = {
  // The frame or the request could not be read.
  invalid_json: [400, 'invalid_request_error'],
  invalid_frame: [400, 'invalid_request_error'],
  unknown_event_type: [400, 'invalid_request_error'],
  missing_required_parameter: [400, 'invalid_request_error'],
  unknown_parameter: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  invalid_function_parameters: [400, 'invalid_request_error'],
  duplicate_item_id: [400, 'invalid_request_error'],
  limit_exceeded: [400, 'invalid_request_error'],
  // A request that was read and refused.
  model_not_found: [404, 'invalid_request_error'],
  invalid_prompt: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  previous_response_not_found: [400, 'invalid_request_error'],
  response_not_found: [404, 'invalid_request_error'],
  response_already_completed: [409, 'invalid_request_error'],
  response_not_completed: [409, 'invalid_request_error'],
  item_not_found: [404, 'invalid_request_error'],
  replay_expired: [410, 'invalid_request_error'],
  not_attached: [409, 'invalid_request_error'],
  superseded: [409, 'invalid_request_error'],
  // Tool outputs.
  unknown_call_id: [400, 'invalid_request_error'],
  missing_tool_output: [400, 'invalid_request_error'],
  call_already_answered: [409, 'invalid_request_error'],
  wrong_output_type: [400, 'invalid_request_error'],
  output_too_long: [400, 'invalid_request_error'],
  // Lanes, and messages into a response that runs.
  invalid_stream_id: [400, 'invalid_request_error'],
  websocket_stream_limit_reached: [400, 'invalid_request_error'],
  invalid_input: [400, 'invalid_request_error'],
  steering_not_supported: [400, 'invalid_request_error'],
  too_many_pending_steers: [429, 'invalid_request_error'],
  response_not_active: [409, 'invalid_request_error'],
  successor_creation_failed: [500, 'invalid_request_error'],
  // The service.
  invalid_api_key: [401, 'authentication_error'],
  websockets_disabled: [426, 'invalid_request_error'],
  upgrade_required: [426, 'invalid_request_error'],
  not_found: [404, 'invalid_request_error'],
  body_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  websocket_connection_limit_reached: [400, 'invalid_request_error'],
  server_shutting_down: [503, 'server_error'],
  server_error: [500, 'server_error'],
} as const satisfies Record<string, readonly [status: number, type: string]>;

export type ErrorCode = keyof typeof errorCodes;

export interface ErrorBody {
  readonly type: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | null;
  /** Headers an HTTP answer would carry; only `retry-after` (seconds) is used. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ProtocolErrorOptions {
  /** The field at fault, as a path into the client's event: `input[0].call_id`. */
  readonly param?: string;
  /** Whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A refusal or failure that the client is told about, word for word. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(code: ErrorCode, message: string, options: ProtocolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.param = options.param ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }

  /** The HTTP status of this code, also carried in socket frames. */
  get status(): number {
    return errorCodes[this.code][0];
  }

  toBody(): ErrorBody {
    const body = {
      type: errorCodes[this.code][1],
      code: this.code,
      message: this.message,
      param: this.param,
    };
    if (this.retryAfterSeconds === null) return body;
    return { ...body, headers: { 'retry-after': String(this.retryAfterSeconds) } };
  }
}

/** Any thrown value as something a client may be told. Text of unknown faults stays in the process. */
export function toProtocolError(fault: unknown): ProtocolError {
  if (fault instanceof ProtocolError) return fault;
  return new ProtocolError('server_error', 'The server failed to process the request.', { cause: fault });
}
