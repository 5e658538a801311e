/** A payload, shown as text (formatted or unchanged), never as markup. The copy has the same bytes. */
import { h, html, useState } from "../../vendor/preact.js";
import { bytes } from "../format.js";
import { t } from "../i18n.js";
import { isJson, laidOut } from "../json.js";
import { Copy } from "./ident.js";

const COLOURED = 200_000; // characters; longer texts have no colours, because each coloured part is an element

/** @param {{text: string | null | undefined, title?: string, none?: string}} props `none`: the replacement of a missing text */
export function Payload({ text, title, none }) {
  const [raw, setRaw] = useState(false);
  if (text === null || text === undefined || text === "") return html`<p class="quiet">${none ?? t("Empty.")}</p>`;
  const coloured = !raw && text.length <= COLOURED && isJson(text);
  return html`<div class="paper">
    <div class="row spread">
      <span class="quiet">${title ?? ""} ${bytes(new Blob([text]).size)}</span>
      <span class="row">
        ${
          isJson(text) &&
          html`<button type="button" class="button bare" aria-pressed=${raw} onClick=${() => setRaw(!raw)}>
          ${t("Raw")}</button>`
        }
        ${h(Copy, { text, label: t("Copy the exact text") })}
      </span>
    </div>
    <pre class="payload" tabindex="0">${
      coloured
        ? laidOut(text).map(([kind, part]) =>
            kind === "mark" || kind === "space" ? part : html`<span class=${kind}>${part}</span>`,
          )
        : text
    }</pre>
  </div>`;
}
