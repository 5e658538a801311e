/** The keys of the console. Single keys can be switched off, because speech input types them by accident. */
import { paused } from "../shared/stream.js";
import { go } from "../shared/router.js";
import { at } from "./session.js";

const PAGES = {
  o: "",
  u: "/pulse",
  y: "/analytics",
  d: "/destinations",
  e: "/events",
  l: "/deliveries",
  q: "/dlq",
  p: "/replays",
  r: "/rules",
  c: "/customers",
  a: "/audit",
  s: "/settings",
};
const ROWS = ".opener, .entry, .attempt"; // links of rows, and buttons that unfold a change or an attempt
let leader = 0;
const LEADER_MS = 1200;

/** True if single keys are enabled. */
export function enabled() {
  return localStorage.getItem("angarium.keys") !== "off";
}

/** Move the focus between the rows of the page's table. @param {number} step */
function move(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(ROWS)]);
  const index = rows.indexOf(/** @type {any} */ (document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, index + step))];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
}

/** @param {string} selector */
function press(selector) {
  /** @type {HTMLElement | null} */ (document.querySelector(selector))?.click();
}

/** @param {KeyboardEvent} event */
function act(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const typing =
    target.matches("input:not([type=checkbox]):not([type=range]), textarea, select") ||
    document.querySelector("dialog[open]");
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    if (typing) target.blur();
    else if (document.querySelector("[data-up]")) history.length > 1 ? history.back() : press("[data-up]");
    return;
  }
  const modified = event.metaKey || event.ctrlKey || event.altKey;
  // Only in a row: elsewhere the arrows scroll the page. With a modifier, browsers and screen readers
  // use them.
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !modified && target.matches(ROWS)) {
    event.preventDefault();
    return move(step);
  }
  if (typing || !enabled() || modified) return;
  if (leader && Date.now() - leader < LEADER_MS && event.key in PAGES) {
    leader = 0;
    event.preventDefault();
    return go(at(PAGES[/** @type {keyof typeof PAGES} */ (event.key)]));
  }
  leader = event.key === "g" ? Date.now() : 0;
  /** @type {Record<string, () => void>} */
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    x: () =>
      /** @type {HTMLElement | null} */ (
        document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]")
      )?.click(),
    p: () => {
      paused.value = !paused.value;
    },
    r: () => press("[data-key=r]"),
    n: () => press("[data-key=n]"),
    "/": () => press("[data-search]"),
    "?": () => go(at("/settings?tab=browser")),
  };
  if (event.key in keys) {
    event.preventDefault();
    keys[event.key]();
  }
}

/** Listen to keys. Returns the function that stops it. */
export function listen() {
  addEventListener("keydown", act);
  return () => removeEventListener("keydown", act);
}
