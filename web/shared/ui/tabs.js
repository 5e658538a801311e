/** Tabs that are links: each has an address. */
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { reveal } from "../router.js";

/** @param {{label: string, now: string, tabs: [string, string, string][]}} props `tabs`: id, title, address */
export function Tabs({ label, now, tabs }) {
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => reveal(bar.current), [now]);
  return html`<nav class="tabs" aria-label=${label} ref=${bar}>
    ${tabs.map(([id, title, href]) => html`<a key=${id} href=${href} aria-current=${id === now ? "page" : null}>${title}</a>`)}
  </nav>`;
}
