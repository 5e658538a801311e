/** JSON with its exact text: `JSON.parse` would round long numbers and drop duplicate keys. */

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\]:,]|./gs;
/** @typedef {"key" | "string" | "number" | "word" | "mark" | "space"} Kind */
/** @typedef {[Kind, string]} Token */

/** @param {string} text @returns {Token[]} every character of the text, in order */
export function tokens(text) {
  /** @type {Token[]} */
  const found = [];
  for (const [part] of text.matchAll(TOKEN)) {
    if (part.startsWith('"')) found.push(["string", part]);
    else if (/^[-\d]/.test(part)) found.push(["number", part]);
    else if (/^(true|false|null)$/.test(part)) found.push(["word", part]);
    else if (/^\s/.test(part)) found.push(["space", part]);
    else {
      if (part === ":") {
        const before = found.findLast(([kind]) => kind !== "space");
        if (before?.[0] === "string") before[0] = "key";
      }
      found.push(["mark", part]);
    }
  }
  return found;
}

/** Return the tokens with line breaks and two spaces a level in place of the text's own space. @param {string} text */
export function laidOut(text) {
  /** @type {Token[]} */
  const out = [];
  const inner = tokens(text).filter(([kind]) => kind !== "space");
  let depth = 0;
  inner.forEach(([kind, part], index) => {
    const next = inner[index + 1]?.[1];
    const line = () => out.push(["space", "\n" + "  ".repeat(depth)]);
    if (kind === "mark" && (part === "{" || part === "[")) {
      out.push([kind, part]);
      if (next === "}" || next === "]") return;
      depth += 1;
      line();
    } else if (kind === "mark" && (part === "}" || part === "]")) {
      const before = inner[index - 1]?.[1];
      if (before !== "{" && before !== "[") {
        depth = Math.max(0, depth - 1);
        line();
      }
      out.push([kind, part]);
    } else if (kind === "mark" && part === ",") {
      out.push([kind, part]);
      line();
    } else if (kind === "mark" && part === ":") out.push([kind, ": "]);
    else out.push([kind, part]);
  });
  return out;
}

/** Return the exact text of a member, or null if it is missing. The last of equal keys counts.
 * @param {string} text an object's JSON @param {string[]} path @returns {string | null}
 */
export function member(text, path) {
  const [name, ...rest] = path;
  if (name === undefined) return text;
  let depth = 0;
  let at = 0;
  let wanted = false;
  let begin = -1;
  let found = null;
  for (const [kind, part] of tokens(text)) {
    if (depth === 1 && kind === "key") wanted = JSON.parse(part) === name;
    const ends = depth === 1 && kind === "mark" && (part === "," || part === "}");
    if (ends && begin >= 0) {
      found = text.slice(begin, at).trim();
      begin = -1;
    }
    if (depth === 1 && wanted && kind === "mark" && part === ":") {
      begin = at + 1;
      wanted = false;
    }
    if (kind === "mark" && (part === "{" || part === "[")) depth += 1;
    if (kind === "mark" && (part === "}" || part === "]")) depth -= 1;
    at += part.length;
  }
  return found === null ? null : member(found, rest);
}

/** @param {string} text */
export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
