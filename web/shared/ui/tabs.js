/** Tabs that are links: each has an address. */
import { html } from "../../vendor/preact.js";

/** @param {{label: string, now: string, tabs: [string, string, string][]}} props `tabs`: id, title, address */
export function Tabs({ label, now, tabs }) {
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(([id, title, href]) => html`<a key=${id} href=${href} aria-current=${id === now ? "page" : null}>${title}</a>`)}
  </nav>`;
}
