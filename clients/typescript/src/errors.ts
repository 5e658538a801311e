/** The errors of this package, by whose fault they are. No error of `fetch` leaks. */

import type { ErrorCode } from "./shapes.js";

/** The base of this package's errors. */
export class AngariumError extends Error {
  override readonly name: string = "AngariumError";
}

/** The service was not reached, or the connection broke. The service can have accepted an event without an
 * answer: send it again with the same idempotency key. */
export class ConnectionFailedError extends AngariumError {
  override readonly name = "ConnectionFailedError";
}

/** An answer that does not come from Angarium: a proxy's page, or a wrong address. */
export class UnexpectedAnswerError extends AngariumError {
  override readonly name = "UnexpectedAnswerError";
}

/** A webhook that must not be trusted: answer it with 400 and do nothing else. */
export class VerificationError extends AngariumError {
  override readonly name = "VerificationError";
}

/** One wrong place of a request. */
export interface Detail {
  path: string;
  message: string;
}

const PLACES_TOLD = 20; // in an error's text; `details` has all places

/** The service refused the request. `code` is stable, for programs; `message` is for people. */
export class ApiError extends AngariumError {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: readonly Detail[];
  /** The request's id, which the service's log has as well. */
  readonly requestId: string | null;
  /** The wait that the service asks for, null if it asks for none. */
  readonly retryAfterMs: number | null;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    details: readonly Detail[] = [],
    requestId: string | null = null,
    retryAfterMs: number | null = null,
  ) {
    const places = details.map((each) => `${each.path}: ${each.message}`).filter((each) => !message.includes(each));
    const more = places.length > PLACES_TOLD ? `; and ${places.length - PLACES_TOLD} more` : "";
    const told = places.slice(0, PLACES_TOLD).map((each) => `; ${each}`).join("");
    super(`${message}${told}${more} (${status} ${code})`);
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** `failed` events of a producer were not accepted. `errors` are those of the first 20. */
export class EventsFailedError extends AngariumError {
  override readonly name = "EventsFailedError";
  readonly failed: number;
  readonly errors: readonly AngariumError[];

  constructor(failed: number, errors: readonly AngariumError[]) {
    const told = [...new Set(errors.map((each) => each.message))].join("; ");
    super(`${failed} events were not accepted: ${told}`);
    this.failed = failed;
    this.errors = errors;
  }
}

/** Return the error for an answer. `body` is its JSON, undefined if it has none. */
export function errorFrom(status: number, body: unknown, headers: Headers): AngariumError {
  if (!isEnvelope(body)) {
    return new UnexpectedAnswerError(`status ${status} without an error envelope: is this address Angarium's?`);
  }
  const id = body.requestId ?? headers.get("x-request-id");
  return new ApiError(status, body.code, body.message, body.details, id, retryAfterMs(headers));
}

/** Return the milliseconds of the header Retry-After, null without one. */
export function retryAfterMs(headers: Headers): number | null {
  const given = headers.get("retry-after");
  return given !== null && /^\d+$/.test(given) ? Number(given) * 1000 : null;
}

interface Envelope {
  code: ErrorCode;
  message: string;
  details?: Detail[];
  requestId?: string;
}

/** Tell whether a body is an error of the service, and not of a proxy. */
export function isEnvelope(body: unknown): body is Envelope {
  return typeof body === "object" && body !== null && "code" in body && typeof body.code === "string";
}
