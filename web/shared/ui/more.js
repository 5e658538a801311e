/** The end of a list: the next page, the progress of a search, and a button that stops it. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { Moment } from "./moment.js";

/** @param {{list: {items: any[] | null, more: (() => void) | null, stop?: (() => void) | null, searchedTo?: string | null}}} props `list`: the result of `usePages` */
export function More({ list: { items, more, stop, searchedTo } }) {
  if (!items?.length && !more && !stop && !searchedTo) return null;
  return html`<div class="more" role="status">
    ${items && html`<span>${t("{count} shown", { count: items.length })}</span>`}
    ${searchedTo && html`<span>${t("Searched back to")} ${h(Moment, { at: searchedTo })}</span>`}
    ${stop && html`<span>${t("Searching…")}</span><button type="button" class="button" onClick=${stop}>${t("Stop")}</button>`}
    ${more && html`<button type="button" class="button" onClick=${more}>${searchedTo ? t("Search further") : t("Load more")}</button>`}
    ${!more && !stop && !searchedTo && html`<span>${t("That is all.")}</span>`}
  </div>`;
}
