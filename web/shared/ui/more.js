/** The end of a list: the next page, and how far was searched. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { Moment } from "./moment.js";

/** @param {{count: number, more: (() => void) | null, busy: boolean, searchedTo?: string | null}} props `searchedTo`: the page had to stop there */
export function More({ count, more, busy, searchedTo }) {
  return html`<div class="more">
    <span>${t("{count} shown", { count })}</span>
    ${searchedTo && html`<span>${t("Searched back to")} ${h(Moment, { at: searchedTo })}</span>`}
    ${more ? html`<button type="button" class="button" disabled=${busy} onClick=${more}>${busy ? t("Searching…") : t("Search further")}</button>` : html`<span>${t("That is all.")}</span>`}
  </div>`;
}
