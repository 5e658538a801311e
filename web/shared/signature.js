/** The check of a webhook's signature (Standard Webhooks) in the browser, which names the mistake. Nothing leaves the page. */

const TOLERANCE_S = 300;
const PREFIX = "whsec_";

/** @typedef {{body: string, secret: string, headers: Record<string, string>, now: number, sent?: string | null}} Received `now` in ms; `sent`: the sent body, if known */
/**
 * @typedef {{kind: "valid" | "headers" | "secret" | "undecoded" | "stale" | "newline" | "reserialised" | "changed" | "id" | "empty" | "other" | "mismatch" | "asymmetric", detail?: string}} Verdict
 */

/** Parse copied headers: lines of `name: value`. @param {string} text @returns {Record<string, string>} */
export function parseHeaders(text) {
  const found = [...text.matchAll(/^\s*["']?([\w-]+)["']?\s*[:=]\s*["']?([^"'\n]*?)["']?,?\s*$/gm)];
  return Object.fromEntries(found.map(([, name, value]) => [name.toLowerCase(), value.trim()]));
}

/** @param {string} text base64 @returns {Uint8Array | null} */
function decoded(text) {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  } catch {
    return null;
  }
}

/** @param {Uint8Array} key @param {string} text @returns {Promise<string>} */
async function sign(key, text) {
  const imported = await crypto.subtle.importKey(
    "raw",
    /** @type {BufferSource} */ (key),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const made = new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...made));
}

/** Return the first byte in which two texts differ, or -1. @param {string} one @param {string} two */
export function firstDifference(one, two) {
  const [a, b] = [one, two].map((each) => new TextEncoder().encode(each));
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) if (a[index] !== b[index]) return index;
  return a.length === b.length ? -1 : shorter;
}

/** Return the texts that frameworks produce when they parse a body and serialise it again. @param {string} body @returns {string[]} */
function rewritings(body) {
  try {
    const value = JSON.parse(body);
    return [
      JSON.stringify(value),
      JSON.stringify(value, null, 2),
      JSON.stringify(value, null, 4),
      JSON.stringify(value).replace(/([,:])(?=(?:[^"]*"[^"]*")*[^"]*$)/g, "$1 "),
    ];
  } catch {
    return [];
  }
}

/** Return true if two bodies have the same JSON. @param {string} one @param {string} two */
function same(one, two) {
  const sorted = (/** @type {string} */ _, /** @type {any} */ value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(
          Object.keys(value)
            .sort()
            .map((key) => [key, value[key]]),
        )
      : value;
  try {
    const [a, b] = [one, two].map((each) => JSON.stringify(JSON.parse(each), sorted));
    return a === b;
  } catch {
    return false;
  }
}

/** Check a received request. @param {Received} received @returns {Promise<Verdict>} */
export async function check({ body, secret, headers, now, sent }) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const signatures = (headers["webhook-signature"] ?? "").split(" ").filter(Boolean);
  const missing = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
    ["webhook-signature", signatures[0]],
  ]
    .filter(([, value]) => !value)
    .map(([name]) => name);
  if (missing.length) return { kind: "headers", detail: missing.join(", ") };
  const given = signatures.filter((each) => each.startsWith("v1,")).map((each) => each.slice(3));
  if (!given.length) return { kind: "asymmetric" };
  const bare = secret.trim().replace(PREFIX, "");
  const key = decoded(bare);
  if (!key?.length) return { kind: "secret" };
  const matches = async (/** @type {Uint8Array} */ with_, /** @type {string} */ text, name = id) =>
    given.includes(await sign(with_, `${name}.${timestamp}.${text}`));
  if (await matches(key, body)) {
    const age = Math.round(now / 1000 - Number(timestamp));
    return Math.abs(age) > TOLERANCE_S ? { kind: "stale", detail: String(age) } : { kind: "valid" };
  }
  if (!body) return { kind: "empty" };
  for (const raw of [bare, secret.trim()])
    if (await matches(new TextEncoder().encode(raw), body)) return { kind: "undecoded" };
  for (const other of [
    `${body}\n`,
    body.replace(/\r?\n$/, ""),
    body.replaceAll("\r\n", "\n"),
    body.replaceAll("\n", "\r\n"),
    body.trim(),
  ]) {
    if (other !== body && (await matches(key, other)))
      return { kind: "newline", detail: String(firstDifference(body, other)) };
  }
  for (const other of rewritings(body))
    if (await matches(key, other)) return { kind: "reserialised", detail: String(firstDifference(body, other)) };
  if (sent && (await matches(key, sent)))
    return { kind: same(body, sent) ? "reserialised" : "changed", detail: String(firstDifference(body, sent)) };
  const named = /"id"\s*:\s*"([^"]+)"/.exec(body)?.[1];
  if (named && named !== id && (await matches(key, body, named))) return { kind: "id", detail: named };
  return { kind: body === sent ? "other" : "mismatch" };
}
