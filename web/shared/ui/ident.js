/** An identifier, shortened in its middle, whole in its title, with a button that copies it. */
import { h, html, useState } from "../../vendor/preact.js";
import { short } from "../format.js";
import { t } from "../i18n.js";

/** Copy a text; with plain http, browsers allow it only through a selection. @param {string} text */
export async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return undefined;
}

/** @param {{text: string, label?: string}} props */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const act = async () => {
    await copy(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${done ? "copy done" : "copy"} onClick=${act} title=${done ? t("Copied") : t("Copy")} aria-label=${label ?? t("Copy")}>
    <svg viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
      ${done ? html`<path d="m2 7.5 3.2 3.2L12 3.5" />` : html`<path d="M4.5 4.5h8v8h-8zM9.5 4.5v-3h-8v8h3" />`}
    </svg>
  </button>`;
}

/** @param {{id: string, href?: string, whole?: boolean}} props */
export function Ident({ id, href, whole }) {
  const text = whole ? id : short(id);
  return html`<span class="ident" title=${id}>
    ${href ? html`<a href=${href}>${text}</a>` : html`<span>${text}</span>`}${h(Copy, { text: id, label: t("Copy {id}", { id }) })}
  </span>`;
}
