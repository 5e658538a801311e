/** Short messages about actions, with a button that undoes the action or a link to its result. */
import { h, html, render, signal } from "../../vendor/preact.js";

/** @typedef {{id: number, text: string, tone: string, action?: {label: string, act?: () => void, href?: string}}} Toast */
/** @type {import("../../vendor/preact.js").Signal<Toast[]>} */
const toasts = signal([]);
let last = 0;
const SHOWN_MS = 8000;
const PLACE = ".toasts"; // it is in the page from the start; otherwise screen readers miss the first message

/** Show a message. @param {string} text @param {{tone?: string, action?: Toast["action"]}} [options] */
export function say(text, { tone = "good", action } = {}) {
  const place = document.querySelector(PLACE);
  if (place && !place.hasChildNodes()) render(h(Messages, {}), place);
  const id = ++last;
  toasts.value = [...toasts.value.slice(-2), { id, text, tone, action }];
  setTimeout(() => close(id), SHOWN_MS);
}

/** @param {number} id */
function close(id) {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

function Messages() {
  return html`${toasts.value.map(
    ({ id, text, tone, action }) => html`<div key=${id} class=${`toast tone-${tone}`}>
    <span>${text}</span>
    ${
      action &&
      (action.href
        ? html`<a href=${action.href}>${action.label}</a>`
        : html`<button type="button" class="button" onClick=${() => {
            close(id);
            action.act?.();
          }}>${action.label}</button>`)
    }
  </div>`,
  )}`;
}
