/** The formats of figures: shares, durations, sizes, times. */
import { formatter, locale, number, t } from "./i18n.js";

/** @param {number | null | undefined} share 0 to 1 */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  return number(share, {
    style: "percent",
    maximumFractionDigits: share > 0.99 && share < 1 ? 2 : share === 1 || share === 0 ? 0 : 1,
  });
}

/** A figure stays on one line with its unit. @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${number(Math.round(ms))}\u00a0ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${number(seconds, { maximumFractionDigits: seconds < 10 ? 1 : 0 })}\u00a0s`;
  if (seconds < 3600) return `${number(Math.floor(seconds / 60))}\u00a0min ${number(Math.round(seconds % 60))}\u00a0s`;
  if (seconds < 172800)
    return `${number(Math.floor(seconds / 3600))}\u00a0h ${number(Math.floor((seconds % 3600) / 60))}\u00a0min`;
  return `${number(Math.floor(seconds / 86400))}\u00a0d`;
}

/** @param {number | null | undefined} n in few characters: 4.8K */
export function compact(n) {
  return number(n, { notation: "compact", maximumFractionDigits: 1 });
}

/** @param {number | null | undefined} n a rate, or a count in one second */
export function rate(n) {
  return n === null || n === undefined ? "–" : number(n, { maximumFractionDigits: n < 10 ? 1 : 0 });
}

/** @param {string | number | Date} at @param {boolean} [seconds] */
export function clock(at, seconds = true) {
  return formatter(Intl.DateTimeFormat, {
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds ? { second: "2-digit" } : {}),
  }).format(new Date(at));
}

/** Return a local date without its year. @param {string | number} at */
export function day(at) {
  return formatter(Intl.DateTimeFormat, { month: "short", day: "numeric" }).format(new Date(at));
}

/** Return a local date and time. @param {string | number} at */
export function moment(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  if (today) return clock(date);
  const other = date.getFullYear() === new Date().getFullYear() ? {} : /** @type {const} */ ({ year: "numeric" });
  return formatter(Intl.DateTimeFormat, {
    ...other,
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  }).format(date);
}

/** Return a local time for a field, some hours ago. @param {number} hours */
export function hoursAgo(hours) {
  const date = new Date(Date.now() - hours * 3600e3);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60e3).toISOString().slice(0, 16);
}

/** Return a local time with its date and zone. @param {string | number} at */
export function dated(at) {
  return formatter(Intl.DateTimeFormat, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  }).format(new Date(at));
}

/** Return a time in full, local and in UTC. @param {string | number} at */
export function exact(at) {
  const date = new Date(at);
  const local = formatter(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "medium" }).format(date);
  return `${local} · ${date.toISOString()}`;
}

const STEPS = /** @type {const} */ ([
  ["day", 86400, "d"],
  ["hour", 3600, "h"],
  ["minute", 60, "min"],
  ["second", 1, "s"],
]);

/** Return the distance of a time from now: "2 minutes ago". @param {string | number} at @param {number} [now] */
export function ago(at, now = Date.now()) {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (Math.abs(seconds) < 2) return t("just now");
  const [unit, size] = STEPS.find(([, each]) => Math.abs(seconds) >= each) ?? STEPS[3];
  return formatter(Intl.RelativeTimeFormat, { numeric: "always", style: "short" }).format(
    Math.trunc(seconds / size),
    unit,
  );
}

/** Return a duration in its largest unit: "12 min". @param {number} seconds */
export function span(seconds) {
  const [, size, unit] = STEPS.find(([, each]) => seconds >= each) ?? STEPS[3];
  return `${number(Math.floor(seconds / size))}\u00a0${unit}`;
}

/** @param {number} n a size in bytes */
export function bytes(n) {
  if (n < 1024) return `${number(n)} B`;
  return n < 1048576
    ? `${number(n / 1024, { maximumFractionDigits: 1 })} KiB`
    : `${number(n / 1048576, { maximumFractionDigits: 1 })} MiB`;
}

/** Shorten an ID in its middle. @param {string} id */
export function short(id) {
  return id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

/** The words of the API that need another text in English. @type {Record<string, string>} */
const ENGLISH = {
  IN_DLQ: "Dead letter",
  RETRIED_FROM_DLQ: "Retried",
  API: "API",
  OWN: "Of the system",
  EVENT: "Event",
  INSPECTION: "Test",
  NORMAL: "Event",
  KEY: "Per customer",
  DISABLED: "Switched off", // the word of the button that does it
};

/** Return a word of the API in normal writing: `HTTP_5XX` is "HTTP 5xx". @param {string | null | undefined} word */
export function words(word) {
  if (!word) return "–";
  const known = t(word);
  if (known !== word) return known;
  if (locale.value === "en" && word in ENGLISH) return ENGLISH[word];
  const text = word.replaceAll("_", " ").toLowerCase();
  return text
    .replace(/^(http|dns|tls|api|mcp|cli)\b/, (each) => each.toUpperCase())
    .replace(/^./, (each) => each.toUpperCase());
}
