/** The state of an object as a shape, a colour and a word, and its last hours as a row of bars. */
import { h, html } from "../../vendor/preact.js";
import { clock, words } from "../format.js";
import { t } from "../i18n.js";

const SHAPES = {
  disc: "M5 0a5 5 0 1 0 0 10A5 5 0 0 0 5 0Z",
  half: "M5 0a5 5 0 1 0 0 10A5 5 0 0 0 5 0Zm0 1.5v7a3.5 3.5 0 0 1 0-7Z",
  ring: "M5 0a5 5 0 1 0 0 10A5 5 0 0 0 5 0Zm0 1.6a3.4 3.4 0 1 1 0 6.8 3.4 3.4 0 0 1 0-6.8Z",
  cross: "M1.6.2 5 3.6 8.4.2 9.8 1.6 6.4 5l3.4 3.4-1.4 1.4L5 6.4 1.6 9.8.2 8.4 3.6 5 .2 1.6Z",
  wedge: "M5 .5 10 9.5H0Z",
  bar: "M0 4h10v2H0Z",
};
const LATE_S = 30; // the least wait of the oldest delivery, and the least time until the queue is empty
const MORE = 1.2; // the least ratio of arrivals to deliveries; a smaller one is noise of the measurement

/**
 * True if a destination works, but its deliveries come late: all its places are in use, its rate is used up, or more
 * arrive than are delivered. A retry that waits for its time does not make a destination late.
 * @param {any} health
 */
export function late({ state, hold, queue }) {
  if (!["HEALTHY", "DEGRADED"].includes(state) || (hold && hold.reason !== "RATE")) return false;
  if ((queue.oldestPendingSeconds ?? 0) < LATE_S || (queue.drainSeconds ?? LATE_S) < LATE_S) return false;
  return (
    Boolean(hold) ||
    queue.inFlight >= queue.effectiveConcurrency ||
    queue.arrivalsPerSecond > queue.deliveredPerSecond * MORE
  );
}

/** @type {Record<string, [keyof typeof SHAPES, string]>} */
const STATES = {
  HEALTHY: ["disc", "good"],
  DELIVERED: ["disc", "good"],
  COMPLETED: ["disc", "good"],
  ACTIVE: ["disc", "good"],
  CLOSED: ["disc", "good"],
  PUBLISHED: ["disc", "good"],
  ON: ["disc", "good"],
  live: ["disc", "good"],
  DEGRADED: ["wedge", "warn"],
  RETRYING: ["wedge", "warn"],
  HALF_OPEN: ["wedge", "warn"],
  stale: ["wedge", "warn"],
  polled: ["half", "info"],
  FAILING: ["cross", "bad"],
  FAILED: ["cross", "bad"],
  OPEN: ["cross", "bad"],
  IN_DLQ: ["cross", "bad"],
  DELIVERING: ["half", "info"],
  RUNNING: ["half", "info"],
  PENDING: ["ring", "info"],
};

/** @param {{name: string, word?: string}} props the state's name in the API; `word` replaces its text */
export function State({ name, word }) {
  const [shape, tone] =
    STATES[name] ?? (["IDLE", "DRAFT", "DRY_RUN"].includes(name) ? ["ring", "off"] : ["bar", "off"]);
  return html`<span class=${`state tone-${tone}`}>
    <svg viewBox="0 0 10 10" fill="currentColor" aria-hidden="true"><path fill-rule="evenodd" d=${SHAPES[shape]} /></svg>${word ?? words(name)}
  </span>`;
}

/** The mark of a destination with a live transform script. @param {{version: number | null}} props */
export const Scripted = ({ version }) =>
  version &&
  html` <span class="tag" title=${t("Version {n} of its script is live.", { n: version })}>${t("Script")}</span>`;

/** The state of the page's data, for its head. @param {{feed: string, at?: number}} props `at`: the load time of a page without a stream */
export function FeedState({ feed, at }) {
  /** @type {Record<string, string>} */
  const told = {
    live: t("Live"),
    paused: t("Page frozen"),
    stale: t("Connection lost"),
    polled: t("As of {time}", { time: clock(at ?? Date.now()) }),
    still: t("Connecting"),
  };
  return h(State, { name: feed, word: told[feed] ?? feed });
}

/** Small bars: successes and, stacked on them, failures. @param {{points: {good: number, bad: number}[], label: string}} props */
export function Spark({ points, label }) {
  const most = Math.max(1, ...points.map((each) => each.good + each.bad));
  return html`<svg class="spark" viewBox=${`0 0 ${points.length * 4} 20`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <path d=${`M0 19.5H${points.length * 4}`} stroke="var(--line)" vector-effect="non-scaling-stroke" />
    ${points.map(({ good, bad }, index) => {
      const top = (good / most) * 18;
      const red = bad ? Math.max(2, (bad / most) * 18) : 0;
      return html`${good > 0 && html`<rect x=${index * 4} width="3" y=${19 - Math.max(1, top)} height=${Math.max(1, top)} fill="var(--muted)" opacity="0.55" />`}
        ${bad > 0 && html`<rect x=${index * 4} width="3" y=${19 - top - red} height=${red} fill="var(--bad)" />`}`;
    })}
  </svg>`;
}
