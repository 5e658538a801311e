/** The client of the HTTP API, and the application that uses it. It returns JSON or exact text, or throws an ApiError. */

import { signal } from "../vendor/preact.js";

/** The number of continuations of ended sessions. After each, the page loads its data and opens its stream again. */
export const renewals = signal(0);

/** A refusal, or a missing answer (status 0). */
export class ApiError extends Error {
  /** @param {number} status 0 without an answer
   * @param {{code?: string, message?: string, details?: {path: string, message: string}[], requestId?: string}} body
   * @param {number | null} retryAfterS seconds after which the same request can succeed
   */
  constructor(status, body, retryAfterS) {
    super(body.message ?? "");
    this.status = status;
    this.code = body.code ?? "";
    this.details = body.details ?? [];
    this.requestId = body.requestId ?? null;
    this.retryAfterS = retryAfterS;
  }
}

/**
 * @typedef {Record<string, string | number | boolean | string[] | null | undefined>} Query a list selects objects with any of its values
 * @typedef {{query?: Query, body?: unknown, signal?: AbortSignal, text?: boolean}} Options
 */

/** Return a query string such as `?a=b`, without empty values. @param {Query} query */
export function queryOf(query = {}) {
  const kept = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === undefined || value === "" ? [] : [value].flat().map((each) => [name, String(each)]),
  );
  return kept.length ? "?" + new URLSearchParams(kept) : "";
}

export class Api {
  /**
   * @param {{token: () => string | null, environment: () => string | null, unauthorized: () => void}} session
   */
  constructor(session) {
    this.session = session;
  }

  /** @returns {Record<string, string>} */
  headers() {
    const token = this.session.token();
    const environment = this.session.environment();
    return {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(environment ? { "x-environment": environment } : {}),
    };
  }

  /** @param {string} path @param {Query} [query] @param {AbortSignal} [signal] */
  get(path, query, signal) {
    return this.call("GET", path, { query, signal });
  }

  /** @param {string} path @param {unknown} [body] */
  post(path, body = {}) {
    return this.call("POST", path, { body });
  }

  /** @param {string} path @param {unknown} body */
  patch(path, body) {
    return this.call("PATCH", path, { body });
  }

  /** @param {string} path */
  delete(path) {
    return this.call("DELETE", path, { body: {} });
  }

  /**
   * @param {string} method @param {string} path @param {Options} [options] `text`: the answer's exact text; a `body` that is a string is JSON already
   * @returns {Promise<any>}
   */
  async call(method, path, options = {}) {
    const answer = await this.open(method, path, options);
    const text = await answer.text();
    return options.text ? text : text ? JSON.parse(text) : null;
  }

  /** Return a successful response, its body unread. Throws ApiError. @param {string} method @param {string} path @param {Options} options */
  async open(method, path, { query, body, signal }) {
    const headers = this.headers();
    if (body !== undefined) headers["content-type"] = "application/json";
    let answer;
    try {
      answer = await fetch(path + queryOf(query), {
        method,
        headers,
        signal,
        credentials: "omit",
        cache: "no-store",
        body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, { code: "unreachable" }, 3);
    }
    if (answer.ok) return answer;
    if (answer.status === 401) this.session.unauthorized();
    const after = Number(answer.headers.get("retry-after"));
    const refusal = await answer.json().catch(() => ({}));
    const waits = answer.status === 429 || answer.status === 503;
    throw new ApiError(
      answer.status,
      { requestId: answer.headers.get("x-request-id") ?? undefined, ...refusal },
      waits ? Math.max(1, after || 2) : null,
    );
  }
}

// The parts of an application that shared pages need: its client, its addresses, the reader's
// permissions.

/**
 * @typedef {"createDestinations" | "editDestinations" | "switchDestinations" | "archiveDestinations" | "testDestinations" |
 *   "editHeaders" | "editDeliveryOptions" | "rotateSecrets" | "manageRules" | "manageTransforms" | "retryDeliveries" |
 *   "discardDeliveries" | "replay" | "viewPayloads"} Ability
 * @typedef {{name: string, api: Api, at: (path?: string) => string, may: (ability: Ability) => boolean,
 *   whole: boolean, whose: () => string}} App `at`: the address of a page; `may` reads a signal, so pages are drawn again when it changes;
 *   `whole`: True in the console, which has pages of everything and sees every customer; `whose`: the environment or the
 *   customer whose data is shown
 */

/** @type {Api} */
export let api;
/** @type {App["at"]} */
export let at;
/** @type {App["may"]} */
export let may;
/** @type {boolean} */
export let whole;
/** @type {App["whose"]} */
export let whose;
/** @type {string} */
export let title;

/** Set the application, once, before a page is drawn. @param {App} app */
export function use(app) {
  ({ api, at, may, whole, whose, name: title } = app);
}
