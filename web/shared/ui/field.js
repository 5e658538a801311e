/** A labelled control with its hint and its error. */
import { html, useId } from "../../vendor/preact.js";

/**
 * @param {{label: string, hint?: string, wrong?: string | null, value: string | number, change: (value: string) => void,
 *   options?: [string, string][], area?: boolean, kind?: string, placeholder?: string, list?: string, min?: number, max?: number,
 *   autofocus?: boolean, required?: boolean, search?: boolean, spellcheck?: boolean}} props
 */
export function Field({ label, hint, wrong, value, change, options, area, kind = "text", ...rest }) {
  const id = useId();
  const note = hint || wrong ? `${id}-note` : null;
  const shared = { id, "aria-describedby": note, "aria-invalid": wrong ? "true" : null, ...rest };
  const told = (/** @type {any} */ event) => change(event.currentTarget.value);
  return html`<div class="field">
    <label class="label" for=${id}>${label}</label>
    ${
      options
        ? html`<select class="select" ...${shared} value=${value} onChange=${told}>${options.map(([word, text]) => html`<option value=${word} selected=${word === value}>${text}</option>`)}</select>`
        : area
          ? html`<textarea class="area" spellcheck="false" ...${shared} value=${value} onInput=${told} />`
          : html`<input class="input" type=${kind} ...${shared} value=${value} onInput=${told} />`
    }
    ${wrong ? html`<span class="wrong" id=${note}>${wrong}</span>` : hint && html`<span class="hint" id=${note}>${hint}</span>`}
  </div>`;
}
