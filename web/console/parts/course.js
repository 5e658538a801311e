/** A queue in the last two minutes, drawn from the health in the stream. */
import { html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";

const KEPT = 120;
/** @typedef {{pending: number, inFlight: number, concurrency: number}} Point */

/** The points of many destinations by ID. Each second adds a point. */
export class Courses {
  /** @type {Record<string, Point[]>} */
  points = {};

  /** Add the current point of a destination. @param {string} id @param {any} health */
  add(id, { queue }) {
    const { pending, inFlight, concurrency } = queue;
    this.points[id] = [...(this.points[id] ?? []).slice(1 - KEPT), { pending, inFlight, concurrency }];
  }
}

/** @param {number[]} values @param {number} most */
function path(values, most) {
  return values
    .map(
      (value, index) =>
        `${index ? "L" : "M"}${(KEPT - values.length + index) * 2} ${(30 - (value / most) * 27).toFixed(1)}`,
    )
    .join("");
}

/** @param {{points: Point[] | undefined}} props */
export function Course({ points = [] }) {
  const waiting = points.map((each) => each.pending);
  const flying = points.map((each) => each.inFlight);
  const limit = points.map((each) => each.concurrency);
  const mostWaiting = Math.max(4, ...waiting);
  const mostFlying = Math.max(4, ...flying, ...limit);
  const last = points.at(-1);
  const label = last ? t("{pending} wait, {inFlight} of {concurrency} in flight", { ...last }) : t("Nothing known yet");
  return html`<svg class="course" viewBox="0 0 240 32" preserveAspectRatio="none" role="img" aria-label=${label}>
    <path d="M0 30.5H240" stroke="var(--line)" vector-effect="non-scaling-stroke" />
    <path d=${path(limit, mostFlying)} fill="none" stroke="var(--muted)" stroke-dasharray="2 3" vector-effect="non-scaling-stroke" />
    <path d=${path(flying, mostFlying)} fill="none" stroke="var(--accent)" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    <path d=${path(waiting, mostWaiting)} fill="none" stroke="var(--warn)" stroke-width="1.5" vector-effect="non-scaling-stroke" />
  </svg>`;
}
