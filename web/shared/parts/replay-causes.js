/** The failures of a replay by cause, each with a link to its deliveries. */
import { h, html } from "../../vendor/preact.js";
import { api, at, whole } from "../api.js";
import { words } from "../format.js";
import { number, t } from "../i18n.js";
import { DestinationName } from "../names.js";
import { useAgain, useResource } from "../resource.js";
import { Skeleton } from "../ui/table.js";
import { Failure } from "../ui/failure.js";

export const AGAIN_MS = 5000; // between two loads while failures come in

const SHOWN = 50; // causes, the most frequent first

/** The address of the deliveries that failed as a group did. @param {any} job @param {any} group */
function those(job, group) {
  const query = new URLSearchParams({ replayJobId: job.id, status: "FAILED", destinationId: group.destinationId });
  if (group.errorCategory) query.set("errorCategory", group.errorCategory);
  if (group.responseStatus) query.set("responseStatus", String(group.responseStatus));
  return at(`/deliveries?${query}`);
}

/** @param {{job: any, runs: boolean}} props a job with failures */
export function Causes({ job, runs }) {
  const found = useResource(
    (signal) => {
      const from = job.startedAt ?? job.createdAt;
      const query = { replayJobId: job.id, destinationId: job.destinationId, from, limit: SHOWN };
      return api.get("/dlq/groups", query, signal);
    },
    [job.id],
  );
  useAgain(found.reload, [job.failed, runs], runs ? AGAIN_MS : 0);
  const items = found.data?.items;
  const list = () =>
    html`<ul class="rules">${items.map(
      (/** @type {any} */ each) => html`<li key=${each.signature}>
      <div class="row spread"><a class="wide-text" href=${those(job, each)}><strong>${each.lastError ?? words(each.errorCategory)}</strong></a>
        <span class="number bad">${number(each.count)}${each.atLeast ? "+" : ""}</span></div>
      <div class="quiet row wrap">${h(DestinationName, { id: each.destinationId })}<span>${words(each.errorCategory)}</span>
        <span class="mono wide-text">${each.eventTypes.slice(0, 3).join(", ")}${each.eventTypes.length > 3 ? " …" : ""}</span><a href=${at(`/deliveries/${each.sampleId}`)}>${t("See one")}</a></div></li>`,
    )}</ul>`;
  return html`<section class="panel" aria-busy=${found.stale ? "true" : null}><header><h2>${t("Failures by cause")}</h2>${whole && html`<a href=${at("/dlq")}>${t("Dead letters")}</a>`}</header>
    ${
      items
        ? items.length
          ? list()
          : html`<p class="inside quiet">${t("All dead letters of this replay were retried or discarded.")}</p>`
        : found.error
          ? h(Failure, { error: found.error, retry: found.reload })
          : h(Skeleton, { rows: 3 })
    }</section>`;
}
