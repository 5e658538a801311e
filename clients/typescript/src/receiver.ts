/** The verification of received webhooks (Standard Webhooks, `v1` and `v1a`), by WebCrypto: for Node, Deno, Bun,
 * browsers and workers. No network, no state. */

import { VerificationError } from "./errors.js";

export { VerificationError } from "./errors.js";

const TOLERANCE_S = 300; // Standard Webhooks recommends five minutes, for clocks and queues
const MAX_SIGNATURES = 8; // the service sends at most two; a forger could send many
const SECRET = "whsec_";
const PUBLIC_KEY = "whpk_";
const SCHEMES = { [SECRET]: "v1", [PUBLIC_KEY]: "v1a" } as const;

/** `Headers`, an object as in Node, or pairs. */
export type HeadersLike =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

export interface VerifyOptions {
  /** The largest difference between a signature's time and the present time. */
  toleranceS?: number;
  /** The present time, in seconds. */
  now?: number;
}

type Prefix = keyof typeof SCHEMES;

/** Return the webhook's JSON if it is genuine and fresh; throw VerificationError otherwise.
 *
 * `body` must be the exact received bytes, before any parsing. `secret` is the destination's `whsec_...`, its
 * public key `whpk_...`, or several of them during a rotation. Deduplicate by the header `webhook-id`.
 * Throws TypeError for an invalid secret: a mistake in the receiver, not in a webhook. */
export async function verify(
  body: Uint8Array | string,
  headers: HeadersLike,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<unknown> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const named = lowered(headers);
  const id = required(named, "webhook-id");
  const timestamp = required(named, "webhook-timestamp");
  const signatures = required(named, "webhook-signature").split(" ").slice(0, MAX_SIGNATURES);
  const now = options.now ?? Date.now() / 1000;
  if (!/^\d{1,12}$/.test(timestamp)) throw new VerificationError("the header webhook-timestamp is no time");
  if (Math.abs(now - Number(timestamp)) > (options.toleranceS ?? TOLERANCE_S)) {
    throw new VerificationError("the webhook is too old or too new: compare this machine's clock");
  }
  const content = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (secrets.length === 0) throw new TypeError("no secret to verify with");
  for (const each of secrets) {
    if (await matches(each, content, signatures)) return parsed(bytes);
  }
  throw new VerificationError("no signature matches: wrong secret, or the body was changed");
}

/** Return the `v1` signature of a body, as the service makes it, for a receiver's tests. */
export async function sign(body: Uint8Array | string, secret: string, id: string, timestamp: number): Promise<string> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const key = await hmac(secretBytes(secret, SECRET), "sign");
  const content = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}

async function matches(secret: string, content: Uint8Array<ArrayBuffer>, signatures: string[]): Promise<boolean> {
  const prefix: Prefix = secret.trim().startsWith(PUBLIC_KEY) ? PUBLIC_KEY : SECRET;
  const raw = secretBytes(secret, prefix);
  const key = prefix === SECRET ? await hmac(raw, "verify") : await ed25519(raw);
  const algorithm = prefix === SECRET ? "HMAC" : "Ed25519";
  for (const signature of signatures) {
    const [scheme, text = ""] = signature.split(",", 2);
    const given = scheme === SCHEMES[prefix] ? decoded(text) : null;
    // WebCrypto compares in constant time.
    if (given !== null && (await crypto.subtle.verify(algorithm, key, given, content))) return true;
  }
  return false;
}

function hmac(raw: Uint8Array<ArrayBuffer>, usage: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}

function ed25519(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
}

function secretBytes(secret: string, prefix: Prefix): Uint8Array<ArrayBuffer> {
  const text = secret.trim(); // the content of a file can end with a newline
  const raw = decoded(text.startsWith(prefix) ? text.slice(prefix.length) : text);
  if (raw === null || raw.length === 0) throw new TypeError(`a secret is ${prefix} and base64`);
  return raw;
}

function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function lowered(headers: HeadersLike): Map<string, string> {
  const pairs = Symbol.iterator in headers ? headers : Object.entries(headers);
  const found = new Map<string, string>();
  for (const [name, value] of pairs as Iterable<readonly [string, string | readonly string[] | undefined]>) {
    if (value !== undefined) found.set(name.toLowerCase(), typeof value === "string" ? value : value.join(" "));
  }
  return found;
}

function required(headers: Map<string, string>, name: string): string {
  const value = headers.get(name);
  if (!value) throw new VerificationError(`the header ${name} is missing`);
  return value;
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new VerificationError("signed, but the body is no JSON");
  }
}
