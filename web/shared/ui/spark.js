/** A row of small bars: successes and, stacked in red and hatched by their place, failures. */
import { html } from "../../vendor/preact.js";

/** @param {{points: {good: number, bad: number}[], label: string}} props */
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
