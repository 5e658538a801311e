/** The difference of two texts. Removed and added lines have a sign besides their colour. */
import { html } from "../../vendor/preact.js";
import { difference } from "../diff.js";
import { t } from "../i18n.js";

const SIGNS = { same: " ", added: "+", removed: "−" };

/** @param {{before: string, after: string}} props */
export function Difference({ before, after }) {
  if (before === after) return html`<p class="quiet">${t("No difference.")}</p>`;
  return html`<pre class="payload lines" tabindex="0">${difference(before, after).map(([kind, line]) => html`<span class=${kind}>${SIGNS[kind]} ${line}</span>`)}</pre>`;
}
