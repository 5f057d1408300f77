/**
 * What this project uses of uWebSockets.js. It is declared here because the library is an optional dependency, so the
 * project has to compile without it, and because its own types lack `listen` with host, port and options.
 */
declare module 'uWebSockets.js' {
  export interface us_listen_socket {
    readonly uws: 'listen socket';
  }
  export interface us_socket_context_t {
    readonly uws: 'socket context';
  }

  export interface HttpRequest {
    forEach(each: (name: string, value: string) => void): void;
    getCaseSensitiveMethod(): string;
    getUrl(): string;
    getQuery(): string;
  }

  export interface HttpResponse {
    onAborted(callback: () => void): HttpResponse;
    /** The chunk is gone when the callback returns. */
    onData(callback: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse;
    onWritable(callback: (offset: number) => boolean): HttpResponse;
    /** Breaks the connection; the aborted callback runs inside this call. */
    close(): HttpResponse;
    cork(callback: () => void): HttpResponse;
    writeStatus(status: string): HttpResponse;
    writeHeader(name: string, value: string): HttpResponse;
    /** One chunk. False: it was buffered, all or in part, and a writable callback will come. */
    write(chunk: string | Uint8Array): boolean;
    end(): HttpResponse;
    end(body: string, closeConnection: boolean): HttpResponse;
    endWithoutBody(reportedContentLength?: number, closeConnection?: boolean): HttpResponse;
    upgrade(
      userData: object,
      key: string,
      protocol: string,
      extensions: string,
      context: us_socket_context_t,
    ): void;
  }

  export interface WebSocket<UserData> {
    getUserData(): UserData;
    getBufferedAmount(): number;
    cork(callback: () => void): WebSocket<UserData>;
    /** 1 sent, 0 buffered, 2 dropped. */
    send(frame: string | Uint8Array, isBinary: boolean): number;
    ping(): number;
    end(code: number, reason: string): void;
  }

  export interface WebSocketBehavior<UserData> {
    compression?: number;
    maxPayloadLength?: number;
    maxBackpressure?: number;
    maxLifetime?: number;
    sendPingsAutomatically?: boolean;
    idleTimeout?: number;
    upgrade?: (response: HttpResponse, request: HttpRequest, context: us_socket_context_t) => void;
    open?: (socket: WebSocket<UserData>) => void;
    message?: (socket: WebSocket<UserData>, frame: ArrayBuffer, isBinary: boolean) => void;
    drain?: (socket: WebSocket<UserData>) => void;
    ping?: (socket: WebSocket<UserData>) => void;
    close?: (socket: WebSocket<UserData>, code: number) => void;
  }

  export interface TemplatedApp {
    ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): TemplatedApp;
    any(pattern: string, answer: (response: HttpResponse, request: HttpRequest) => void): TemplatedApp;
    listen(
      host: string,
      port: number,
      options: number,
      listening: (listenSocket: us_listen_socket | false) => void,
    ): TemplatedApp;
    close(): TemplatedApp;
  }

  export const DISABLED: number;
  export function App(): TemplatedApp;
  export function us_listen_socket_close(listenSocket: us_listen_socket): void;
  export function us_socket_local_port(listenSocket: us_listen_socket): number;

  interface Library {
    readonly DISABLED: typeof DISABLED;
    readonly App: typeof App;
    readonly us_listen_socket_close: typeof us_listen_socket_close;
    readonly us_socket_local_port: typeof us_socket_local_port;
  }
  const library: Library;
  export default library;
}
