/** A chart of a few lines over time, with units on its axes, and a table for screen readers. */
import { html } from "../../vendor/preact.js";
import { clock, compact, day } from "../format.js";
import { t } from "../i18n.js";

/** Return the width for which a plot is drawn, so that its texts keep their size, also on a telephone. */
export const plotWidth = () => (matchMedia("(max-width: 48rem)").matches ? 360 : 720);
const LEFT = 44;
const DASH = 6; // of a value without neighbours

/** Return a round number that is at least n. @param {number} n */
function above(n) {
  const base = 10 ** Math.floor(Math.log10(Math.max(n, 1)));
  return [1, 2, 5, 10].map((each) => each * base).find((each) => each >= n) ?? n;
}

/** A series without failures has no line: red is only for failures. @param {{tone: string, values: (number | null)[]}} series */
const seen = ({ tone, values }) => tone !== "bad" || values.some(Boolean);

/**
 * @param {{times: string[], series: {name: string, tone: string, dashed?: boolean, values: (number | null)[]}[], unit: string,
 *   height?: number, seconds?: boolean, days?: boolean}} props `tone`: a token such as `good`; `days`: show dates, not times
 */
export function Chart({ times, series, unit, height = 160, seconds = true, days = false }) {
  const width = plotWidth();
  const most = above(Math.max(1, ...series.flatMap((each) => each.values.map((value) => value ?? 0))));
  const when = (/** @type {string} */ at) => (days ? day(at) : clock(at, seconds));
  const bottom = height - 22;
  const x = (/** @type {number} */ index) => LEFT + (index / Math.max(1, times.length - 1)) * (width - LEFT - 4);
  const y = (/** @type {number} */ value) => bottom - (value / most) * (bottom - 10);
  const path = (/** @type {(number | null)[]} */ values) =>
    values
      .map((value, index) => {
        if (value === null) return "";
        const before = (values[index - 1] ?? null) !== null;
        const alone = !before && (values[index + 1] ?? null) === null; // it is a short dash
        return `${before ? "L" : "M"}${(x(index) - (alone ? DASH : 0)).toFixed(1)} ${y(value).toFixed(1)}${alone ? `h${DASH}` : ""}`;
      })
      .join("");
  const ticks = times.length > 1 ? [0, Math.floor((times.length - 1) / 2), times.length - 1] : [];
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
      ${[0, 0.5, 1].map(
        (share) => html`<g>
        <path d=${`M${LEFT} ${y(most * share)}H${width}`} stroke="var(--line)" vector-effect="non-scaling-stroke" />
        <text x=${LEFT - 8} y=${y(most * share) + 4} text-anchor="end">${compact(most * share)}</text>
      </g>`,
      )}
      ${series.filter(seen).map((each) => html`<path d=${path(each.values)} fill="none" stroke=${`var(--${each.tone})`} stroke-width="1.75" stroke-linejoin="round" stroke-linecap="round" stroke-dasharray=${each.dashed ? "5 3" : null} vector-effect="non-scaling-stroke" />`)}
      ${ticks.map((index, place) => html`<text x=${x(index)} y=${height - 4} text-anchor=${["start", "middle", "end"][place]}>${when(times[index])}</text>`)}
    </svg>
    <figcaption class="legend">
      ${series.map((each) => html`<span><i class=${`tone-${each.tone}${each.dashed ? " dashed" : ""}`} style=${{ "--tone": `var(--${each.tone})` }} />${each.name}</span>`)}
      <span>${unit}</span>
    </figcaption>
    <div class="unseen"><table><caption>${unit}</caption>
      <thead><tr><th scope="col">${t("Time")}</th>${series.map((each) => html`<th scope="col">${each.name}</th>`)}</tr></thead>
      <tbody>${times.map((at, index) => html`<tr><th scope="row">${when(at)}</th>${series.map((each) => html`<td>${each.values[index] ?? "–"}</td>`)}</tr>`)}</tbody>
    </table></div>
  </figure>`;
}
