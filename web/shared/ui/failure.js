/** An error in the page: its cause, the next step, and the request's ID. */
import { h, html, useMemo } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { Copy } from "./ident.js";
import { Until } from "./moment.js";

/** @param {import("../api.js").ApiError} error @returns {[string, string]} the cause, and the next step */
function told(error) {
  switch (error.status) {
    case 0:
      return [t("The server does not answer."), t("The page tries again by itself.")];
    case 401:
      return [t("The session has ended."), t("Sign in again; this page stays as it is.")];
    case 402:
      return [t("A limit of the plan is reached."), error.message];
    case 403:
      return [t("Your key does not allow this."), error.message];
    case 404:
      return [t("Not found, or no longer kept."), t("Check the id and the environment at the top left.")];
    case 429:
      return [t("Too many requests."), t("The page tries again by itself.")];
    case 503:
      return [t("The server is busy."), t("The page tries again by itself.")];
    default:
      return [error.message || t("Something went wrong."), ""];
  }
}

/** @param {{error: import("../api.js").ApiError, retry?: () => void}} props */
export function Failure({ error, retry }) {
  const [what, hint] = told(error);
  const until = useMemo(() => Date.now() + (error.retryAfterS ?? 0) * 1000, [error]);
  return html`<div class="notice tone-bad" role="alert">
    <div><strong>${what}</strong> ${hint}</div>
    ${error.details.length > 0 && html`<ul>${error.details.map((each) => html`<li><code>${each.path}</code> ${each.message}</li>`)}</ul>`}
    <div class="row">
      ${error.retryAfterS ? html`<span class="quiet">${t("Trying again in")} ${h(Until, { until })}</span>` : retry && html`<button class="button" type="button" onClick=${retry}>${t("Try again")}</button>`}
      ${error.requestId && html`<span class="quiet ident">${t("Request")} ${error.requestId}${h(Copy, { text: error.requestId })}</span>`}
    </div>
  </div>`;
}
