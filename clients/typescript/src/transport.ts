/** The transport, which performs a call by `fetch`, with retries and time limits. */

import { AngariumError, ConnectionFailedError, errorFrom, isEnvelope, retryAfterMs } from "./errors.js";
import { type RetryPolicy, delayMs } from "./retry.js";

const GONE = 404;
const UNAVAILABLE = 503;
const BAD_GATEWAY = 502; // stands for a 503 that a proxy wrote: the service can have performed the call

/** One call of the API. `body` is a value to be sent as JSON, a text of JSON, or bytes that are sent unchanged. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  contentType?: string;
  /** Whether two calls have the same effect as one. True by default. */
  repeatable?: boolean;
  /** Whether a 404 to a retry means that an earlier attempt succeeded. */
  goneIsDone?: boolean;
  /** How long the service can take, if that can exceed the client's timeout. */
  takesMs?: number;
}

/** The options of every call. */
export interface CallOptions {
  /** Ends the call and its retries. */
  signal?: AbortSignal;
}

export interface TransportOptions {
  url: string;
  key: string | (() => string);
  environment?: string;
  timeoutMs: number;
  retry: RetryPolicy;
  fetch: typeof fetch;
}

/** The sender of calls to one service. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: string;

  constructor(options: TransportOptions) {
    const base = new URL(options.url);
    if (base.protocol !== "http:" && base.protocol !== "https:") throw new TypeError(`no address of HTTP: ${options.url}`);
    this.#options = options;
    this.#base = base.href.replace(/\/+$/, "");
  }

  /** Perform a call, with retries as the policy allows. */
  async json<Answer>(call: Call, options: CallOptions = {}): Promise<Answer> {
    const request = this.#request(call);
    for (let attempt = 1; ; attempt += 1) {
      const [answer, failure] = await this.#attempt(call, request, options.signal);
      if (answer?.ok) return (await read(answer)) as Answer;
      const gone = call.goneIsDone && attempt > 1 && answer?.status === GONE;
      if (gone) return { success: true } as Answer;
      const body = answer?.status === UNAVAILABLE ? await parsed(answer) : undefined;
      options.signal?.throwIfAborted();
      const pause = delayMs(
        this.#options.retry,
        {
          attempt,
          status: answer && statusOf(answer, body),
          repeatable: call.repeatable ?? true,
          retryAfterMs: answer ? retryAfterMs(answer.headers) : null,
        },
        Math.random(),
      );
      if (pause === null) throw failure ?? errorFrom(answer!.status, body ?? (await parsed(answer!)), answer!.headers);
      if (answer?.bodyUsed === false) await answer.body?.cancel();
      await asleep(pause, options.signal);
    }
  }

  /** Return an answer whose body the caller reads, without time limit or retries. */
  async open(call: Call, options: CallOptions = {}): Promise<Response> {
    const [url, init] = this.#request(call);
    let answer: Response;
    try {
      answer = await this.#options.fetch(url, { ...init, signal: options.signal ?? null });
    } catch (error) {
      throw failed(call, error, options.signal);
    }
    if (answer.ok) return answer;
    throw errorFrom(answer.status, await parsed(answer), answer.headers);
  }

  #request(call: Call): [string, RequestInit] {
    const { key, environment } = this.#options;
    const headers: Record<string, string> = {
      accept: "application/json",
      authorization: `Bearer ${typeof key === "string" ? key : key()}`,
    };
    if (environment !== undefined) headers["x-environment"] = environment;
    const init: RequestInit = { method: call.method, headers, redirect: "error" };
    if (call.body !== undefined) {
      headers["content-type"] = call.contentType ?? "application/json";
      const ready = typeof call.body === "string" || call.body instanceof Uint8Array || call.body instanceof Blob;
      init.body = ready ? (call.body as BodyInit) : JSON.stringify(call.body);
    }
    return [`${this.#base}${call.path}${queryOf(call.query)}`, init];
  }

  async #attempt(
    call: Call,
    [url, init]: [string, RequestInit],
    signal: AbortSignal | undefined,
  ): Promise<[Response | null, AngariumError | null]> {
    signal?.throwIfAborted();
    const late = AbortSignal.timeout(Math.max(this.#options.timeoutMs, call.takesMs ?? 0));
    try {
      const ends = signal === undefined ? late : AbortSignal.any([signal, late]);
      return [await this.#options.fetch(url, { ...init, signal: ends }), null];
    } catch (error) {
      return [null, failed(call, error, signal)];
    }
  }
}

/** Return a query as text, with its question mark, without undefined and null values. */
export function queryOf(query: Readonly<Record<string, unknown>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, given] of Object.entries(query)) {
    for (const value of Array.isArray(given) ? given : [given]) {
      if (value === undefined || value === null) continue;
      parameters.append(name, value instanceof Date ? value.toISOString() : String(value));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

function failed(call: Call, error: unknown, signal: AbortSignal | undefined): AngariumError {
  signal?.throwIfAborted();
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new ConnectionFailedError(`${call.method} ${call.path}: ${why}`, { cause: error });
}

async function read(answer: Response): Promise<unknown> {
  if (answer.status === 204) return undefined;
  const body = await parsed(answer);
  if (body === undefined) throw errorFrom(answer.status, undefined, answer.headers);
  return body;
}

/** Return the status by which a failed call is judged. The service says in its error that a 503 had no effect. */
function statusOf(answer: Response, body: unknown): number {
  return answer.status === UNAVAILABLE && !isEnvelope(body) ? BAD_GATEWAY : answer.status;
}

async function parsed(answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

function asleep(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, pauseMs);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
