/** The choice of event types: patterns, and below them the types with a schema, each with its description. */
import { h, html } from "../../vendor/preact.js";
import { api } from "../api.js";
import { t } from "../i18n.js";
import { usePages } from "../resource.js";
import { Field } from "../ui/field.js";
import { More } from "../ui/more.js";

const EVERY = "*";

/** Split a list of patterns. @param {string} text */
export function patterns(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** @param {{label: string, value: string, change: (value: string) => void, hint?: string, wrong?: string | null}} props `value`: the patterns */
export function TypeChoice({ value, change, ...field }) {
  const found = usePages(api, "/schemas", { status: "ACTIVE" });
  const chosen = patterns(value);
  const known = (found.items ?? []).toSorted((/** @type {any} */ one, /** @type {any} */ two) =>
    one.eventType < two.eventType ? -1 : 1,
  );
  const turn = (/** @type {string} */ type, /** @type {boolean} */ on) => {
    const others = chosen.filter((each) => each !== type && (!on || each !== EVERY));
    change((type === EVERY && on ? [EVERY] : on ? [...others, type] : others).join(" "));
  };
  const check = (/** @type {string} */ type, /** @type {any} */ text, description = "") =>
    html`<label class="check" key=${type}><input type="checkbox" checked=${chosen.includes(type)} onChange=${(/** @type {any} */ event) => turn(type, event.currentTarget.checked)} />
      <span>${text} ${description && html`<span class="quiet" title=${description}>${description}</span>`}</span></label>`;
  return html`<div class="stack tight">
    ${h(Field, { ...field, value, change })}
    ${
      known.length > 0 &&
      html`<fieldset class="types" aria-label=${t("Known event types")}>
      ${check(EVERY, t("Every type, including future ones"))}
      ${known.map((/** @type {any} */ each) => check(each.eventType, each.eventType, each.description ?? ""))}
      ${found.more && h(More, { list: found })}</fieldset>`
    }</div>`;
}
