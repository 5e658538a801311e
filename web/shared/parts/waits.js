/** The reasons for a delivery's wait: every gate that it has not passed, with its end. */
import { h, html, useEffect } from "../../vendor/preact.js";
import { words } from "../format.js";
import { locale, t, tn } from "../i18n.js";
import { useResource } from "../resource.js";
import { Failure } from "../ui/failure.js";
import { Ident } from "../ui/ident.js";
import { Until } from "../ui/moment.js";
import { api, at } from "../api.js";

/** The text for each gate, for languages that the API does not have. @param {number | null} position @returns {Record<string, string>} */
const told = (position) => ({
  DISABLED: t("The destination is switched off."),
  LANE: t("Another delivery of its lane goes first."),
  SCHEDULE: t("The schedule sets the next attempt."),
  RETRY_AFTER: t("The receiver asked for a pause."),
  CIRCUIT: t("The circuit is open; one delivery probes next."),
  RATE: t("The destination's rate limit is used up."),
  CONCURRENCY: t("The destination's concurrency is used up."),
  QUEUE: tn("{n} goes before it", "{n} go before it", position ?? 0),
  STORE: t("The database is unreachable"),
});

/** @param {{id: string, destinationId: string, seen: string}} props `seen`: changes with the delivery */
export function Waits({ id, destinationId, seen }) {
  const found = useResource((signal) => api.get(`/deliveries/${id}/explain`, {}, signal), [id]);
  useEffect(found.reload, [seen]);
  if (found.error && !found.data) return h(Failure, { error: found.error, retry: found.reload });
  if (!found.data) return null;
  const { waits, lane, position } = found.data;
  return html`<ul class="rules">
    ${waits.length === 0 && html`<li>${t("Nothing holds it: it is in flight, or goes next.")}</li>`}
    ${waits.map(
      (/** @type {any} */ wait) => html`<li key=${wait.gate}>
      <div class="row wrap"><strong>${words(wait.gate)}</strong>${wait.until && html`<span class="tag tone-info">${t("for another")} ${h(Until, { until: wait.until })}</span>`}</div>
      ${wait.detail && html`<p class="quiet">${locale.value === "en" ? wait.detail : (told(position)[wait.gate] ?? wait.detail)}</p>`}
      ${wait.gate === "CIRCUIT" && html`<p><a href=${at(`/destinations/${destinationId}`)}>${t("See why its deliveries fail")}</a></p>`}
      ${wait.blockedBy && html`<p>${t("Behind")} ${h(Ident, { id: wait.blockedBy, href: at(`/deliveries/${wait.blockedBy}`) })}</p>`}
    </li>`,
    )}
    ${lane && html`<li class="quiet">${t("Lane")} <code>${lane.key ?? words(lane.kind)}</code></li>`}
    ${position !== null && !waits.some((/** @type {any} */ each) => ["QUEUE", "LANE"].includes(each.gate)) && html`<li class="quiet">${tn("{n} goes before it", "{n} go before it", position)}</li>`}
  </ul>`;
}
