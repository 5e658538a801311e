/** An end-customer: its destinations and their latest deliveries, its limits and permissions, its events and its portal. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { useResource } from "../../shared/resource.js";
import { query } from "../../shared/router.js";
import { Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { Ident } from "../../shared/ui/ident.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { Head } from "../../shared/head.js";
import { api, at, writes } from "../session.js";
import { Log } from "../parts/customer/log.js";
import { Permissions } from "../parts/customer/permissions.js";
import { Quotas } from "../parts/customer/quotas.js";

/** @param {{externalId: string}} props */
export function Page({ externalId }) {
  const found = useResource(
    (signal) => api.get(`/customers/${encodeURIComponent(externalId)}`, {}, signal),
    [externalId],
  );
  const { tab = "log" } = query();
  const path = at(`/customers/${encodeURIComponent(externalId)}`);
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
    { title: customer.name ?? externalId, up, live: tab !== "limits" },
    html`<a class="button" href=${at(`/events?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Events")}</a>
      <a class="button" href=${at(`/deliveries?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Deliveries")}</a>
      ${writes.value && html`<a class="button" href=${at(`/replays?new=1&customerAccountId=${customer.customerAccountId}&customer=${encodeURIComponent(externalId)}`)}>${t("Send again")}</a>`}`,
    writes.value && h(Button, { act: portal }, t("Open the portal")),
  )}
    <p class="row wrap quiet"><span class="wide-text">${externalId}</span>${h(Ident, { id: customer.customerAccountId })}
      <a href=${at(`/audit?objectId=${customer.customerAccountId}`)}>${t("Who changed it?")}</a></p>
    ${h(Tabs, {
      label: t("Views of the customer"),
      now: tab,
      tabs: [
        ["log", t("Destinations and deliveries"), path],
        ["limits", t("Limits and permissions"), `${path}?tab=limits`],
      ],
    })}
    ${
      tab === "limits"
        ? html`<div class="two">${h(Permissions, { customer, changed })}
          <section class="panel"><header><h2>${t("Name and limits")}</h2></header>${h(Quotas, { customer, changed })}</section></div>`
        : h(Log, { customer })
    }`;
}
