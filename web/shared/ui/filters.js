/** The filters of a list. They live in the address, so that a link shows the same list. */
import { h, html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { words } from "../format.js";
import { t } from "../i18n.js";
import { clear, query, setQuery } from "../router.js";
import { Field } from "./field.js";

const STILL_MS = 300; // without a key, until a text counts

/**
 * @typedef {{name: string, label: string, options?: string[], words?: string[], placeholder?: string, kind?: string, rare?: boolean}} Filter
 */

/** @param {{filter: Filter, value: string}} props */
function Written({ filter, value }) {
  const [draft, setDraft] = useState(value);
  const timer = useRef(0);
  useEffect(() => setDraft(value), [value]);
  const change = (/** @type {string} */ text) => {
    setDraft(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ [filter.name]: text.trim() }), STILL_MS);
  };
  return h(Field, {
    label: filter.label,
    value: draft,
    change,
    placeholder: filter.placeholder,
    kind: filter.kind ?? "search",
    spellcheck: false,
  });
}

/** @param {{filters: Filter[], children?: any}} props */
export function Filters({ filters, children }) {
  const given = query();
  const used = filters.some(({ name }) => given[name]);
  const [all, setAll] = useState(false);
  const shown = filters.filter((each) => all || !each.rare || given[each.name]);
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${shown.map((filter) =>
      filter.options
        ? h(Field, {
            key: filter.name,
            label: filter.label,
            value: given[filter.name] ?? "",
            options: [
              ["", t("Any")],
              .../** @type {[string, string][]} */ (
                filter.options.map((each, index) => [each, filter.words?.[index] ?? words(each)])
              ),
            ],
            change: (value) => setQuery({ [filter.name]: value }),
          })
        : h(Written, { key: filter.name, filter, value: given[filter.name] ?? "" }),
    )}
    ${(all || shown.length < filters.length) && html`<button type="button" class="button bare" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? t("Fewer filters") : t("More filters")}</button>`}
    ${used && html`<button type="button" class="button bare" onClick=${() => clear(filters)}>${t("Clear filters")}</button>`}
    ${children}
  </form>`;
}
