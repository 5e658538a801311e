/** A time: local or relative; the title has it in UTC. All share one timer. */
import { html, signal } from "../../vendor/preact.js";
import { ago, dated, duration, exact, moment } from "../format.js";

/** The current time, updated each second while a page shows it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/** @param {{at: string | null | undefined, relative?: boolean, whole?: boolean}} props `whole`: with its date and zone, to be quoted */
export function Moment({ at, relative, whole }) {
  if (!at) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${at} title=${exact(at)}>${relative ? ago(at, now.value) : whole ? dated(at) : moment(at)}</time>`;
}

const IN_SECONDS = 120; // up to here a countdown shows only seconds

/** A countdown. @param {{until: string | number}} props */
export function Until({ until }) {
  const seconds = Math.max(0, Math.ceil((new Date(until).getTime() - now.value) / 1000));
  return html`<span class="number">${seconds < IN_SECONDS ? `${seconds} s` : duration(seconds * 1000)}</span>`;
}
