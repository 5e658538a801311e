/** A time: local, or how long ago; the title has it in UTC. One timer serves all. */
import { html, signal } from "../../vendor/preact.js";
import { ago, exact, moment } from "../format.js";

/** The present, told each second while a page shows it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/** @param {{at: string | null | undefined, relative?: boolean}} props */
export function Moment({ at, relative }) {
  if (!at) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${at} title=${exact(at)}>${relative ? ago(at, now.value) : moment(at)}</time>`;
}

/** A countdown in whole seconds. @param {{until: string | number}} props */
export function Until({ until }) {
  return html`<span class="number">${Math.max(0, Math.ceil((new Date(until).getTime() - now.value) / 1000))} s</span>`;
}
