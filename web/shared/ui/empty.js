/** What a list shows that has nothing: the next step, or how to see more. */
import { html } from "../../vendor/preact.js";

/** @param {{title: string, children?: any}} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

/** Rows that are being loaded; as high as the rows will be. @param {{rows?: number}} props */
export function Skeleton({ rows = 8 }) {
  return html`<div class="skeleton" aria-hidden="true">${Array.from({ length: rows }, (_, index) => html`<i style=${{ inlineSize: `${30 + ((index * 37) % 50)}%` }} />`)}</div>`;
}
