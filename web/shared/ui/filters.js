/** The filters of a list. They are in the address, so that a link shows the same list. */
import { h, html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { whole } from "../api.js";
import { short, words } from "../format.js";
import { t } from "../i18n.js";
import { useNames } from "../names.js";
import { clear, query, setQuery } from "../router.js";
import { Field } from "./field.js";
import { copy } from "./ident.js";
import { say } from "./toasts.js";

const STILL_MS = 300; // without a key press, until a text applies
const ID_LENGTH = 36;
const LIST = "destinations"; // a page has one filter by destination

/**
 * @typedef {{name: string, label: string, options?: string[], words?: string[], placeholder?: string, kind?: string,
 *   named?: boolean, rare?: boolean}} Filter `named`: the ID of a destination, which is chosen by name
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

/** A destination, by name or by ID. @param {{filter: Filter, value: string}} props */
function Named({ filter, value }) {
  const names = useNames();
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  useEffect(() => setDraft(null), [value]);
  const known = Object.entries(names);
  const often = known.map(([, name]) => name).filter((name, index, all) => all.indexOf(name) !== index);
  const byText = new Map(known.map(([id, name]) => [often.includes(name) ? `${name} · ${short(id)}` : name, id]));
  const change = (/** @type {string} */ text) => {
    setDraft(text);
    const id = byText.get(text.trim()) ?? (text.trim().length === ID_LENGTH ? text.trim() : "");
    if (id || !text.trim()) setQuery({ [filter.name]: id });
  };
  const unknown = draft && ![...byText.keys()].some((each) => each.toLowerCase().includes(draft.trim().toLowerCase()));
  return html`${h(Field, {
    label: filter.label,
    value: draft ?? names[value] ?? value,
    change,
    kind: "search",
    list: LIST,
    placeholder: t("Name or id"),
    wrong: unknown && draft.trim().length !== ID_LENGTH ? t("No destination has this name.") : null,
    spellcheck: false,
  })}
    <datalist id=${LIST}>${[...byText.keys()].map((text) => html`<option value=${text} />`)}</datalist>`;
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
        : h(filter.named ? Named : Written, { key: filter.name, filter, value: given[filter.name] ?? "" }),
    )}
    ${(all || shown.length < filters.length) && html`<button type="button" class="button bare" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? t("Fewer filters") : t("More filters")}</button>`}
    ${used && html`<button type="button" class="button bare" onClick=${() => clear(filters)}>${t("Clear filters")}</button>`}
    ${used && whole && html`<button type="button" class="button bare" onClick=${() => copy(location.href).then(() => say(t("The link is copied: it shows the same list.")))}>${t("Copy the link")}</button>`}
    ${children}
  </form>`;
}
