/** The portal's bar in the colours of a brand, for both schemes. A colour is shifted until text in it can be read. */
import { html } from "../../../vendor/preact.js";
import { values } from "../../../portal/theme.js";
import { t } from "../../../shared/i18n.js";

/** @param {{name: string, primary: string}} props */
export function Preview({ name, primary }) {
  const own = values({ primary });
  return html`<div class="pair-row" aria-hidden="true">${["light", "dark"].map(
    (scheme) => html`<div key=${scheme} class="preview" style=${{ ...own, colorScheme: scheme }}>
    <div class="row"><strong class="cut">${name || t("Name")}</strong><span class="now">${t("Deliveries")}</span></div>
    <div><span class="button primary">${t("Save")}</span></div></div>`,
  )}</div>`;
}
