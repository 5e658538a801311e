/** An end-customer: its destinations, its use of its limits, what it may do, its events, and its portal as it sees it. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { Empty, Skeleton } from "../../shared/ui/empty.js";
import { Failure } from "../../shared/ui/failure.js";
import { Ident } from "../../shared/ui/ident.js";
import { More } from "../../shared/ui/more.js";
import { Table } from "../../shared/ui/table.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { Head } from "../../shared/head.js";
import { api, at, writes } from "../session.js";
import { columns } from "../../shared/pages/destinations.js";
import { Permissions } from "../parts/customer/permissions.js";
import { Quotas } from "../parts/customer/quotas.js";

/** @param {{externalId: string}} props */
export function Page({ externalId }) {
  const found = useResource(
    (signal) => api.get(`/customers/${encodeURIComponent(externalId)}`, {}, signal),
    [externalId],
  );
  const list = usePages(api, "/destinations/summaries", { customerExternalId: externalId });
  const up = /** @type {[string, string]} */ (["/customers", t("Customers")]);
  const customer = found.data;
  if (!customer)
    return html`${h(Head, { title: externalId, up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 10 })}`;
  const changed = (/** @type {any} */ next) => found.set(() => next);
  const portal = async () => {
    const session = await act(() => api.post("/embed/sessions", { customerExternalId: externalId, ttlSeconds: 900 }));
    if (session?.url) open(session.url, "_blank", "noopener");
    else if (session) say(t("This server has no portal: set ANGARIUM_PORTAL_URL."), { tone: "warn" });
  };
  return html`${h(
    Head,
    { title: customer.name ?? externalId, up },
    html`<a class="button" href=${at(`/events?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Events")}</a>
      <a class="button" href=${at(`/deliveries?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Deliveries")}</a>
      ${writes.value && html`<a class="button" href=${at(`/replays?new=1&customerAccountId=${customer.customerAccountId}&customer=${encodeURIComponent(externalId)}`)}>${t("Send again")}</a>`}`,
    writes.value && h(Button, { act: portal }, t("Open the portal")),
  )}
    <p class="row wrap quiet"><span class="wide-text">${externalId}</span>${h(Ident, { id: customer.customerAccountId })}
      <a href=${at(`/audit?objectId=${customer.customerAccountId}`)}>${t("Who changed it?")}</a></p>
    <div class="two"><section class="panel"><header><h2>${t("Destinations of its own")}</h2></header>
      ${h(Table, { label: t("Destinations"), columns: columns().filter((each) => each.on || each.title === t("Success")), list, id: (row) => row.destination.id, href: (row) => at(`/destinations/${row.destination.id}`), skeleton: 6, empty: h(Empty, { title: t("None is tied to this customer.") }, html`<p class="quiet">${t("Its events still reach the destinations that are tied to nobody.")}</p>`) })}
      ${h(More, { list })}</section>
    <section class="panel"><header><h2>${t("Name and limits")}</h2></header>${h(Quotas, { customer, changed })}</section></div>
    ${h(Permissions, { customer, changed })}`;
}
