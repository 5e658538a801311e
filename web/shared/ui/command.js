/** A command for the terminal, with a button that copies it. */
import { h, html } from "../../vendor/preact.js";
import { Copy } from "./ident.js";

/** @param {{text: string}} props */
export function Shell({ text }) {
  return html`<div class="command"><code tabindex="0">${text}</code>${h(Copy, { text })}</div>`;
}
