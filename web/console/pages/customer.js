/** An end-customer: its destinations, its use of its limits, its events, and its portal as it sees it. */
import { h, html, useState } from "../../vendor/preact.js";
import { number, t } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { Empty, Skeleton } from "../../shared/ui/empty.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Ident } from "../../shared/ui/ident.js";
import { More } from "../../shared/ui/more.js";
import { Table } from "../../shared/ui/table.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { Head } from "../../shared/head.js";
import { api, at, writes } from "../session.js";
import { columns } from "../../shared/pages/destinations.js";

/** @returns {[string, string][]} */
const limits = () => [
  ["destinations", t("Destinations")],
  ["rules", t("Routing rules")],
  ["transforms", t("Transform scripts")],
  ["requestsPerMinute", t("Requests a minute")],
];

/** @param {{customer: any, changed: (customer: any) => void}} props */
function Quotas({ customer, changed }) {
  const [draft, setDraft] = useState(
    /** @type {Record<string, string>} */ ({
      name: customer.name ?? "",
      ...Object.fromEntries(limits().map(([name]) => [name, String(customer.quotas[name] ?? "")])),
    }),
  );
  const [error, setError] = useState(/** @type {any} */ (null));
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    try {
      const quotas = Object.fromEntries(limits().map(([name]) => [name, draft[name] ? Number(draft[name]) : null]));
      changed(
        await api.call("PUT", `/customers/${encodeURIComponent(customer.customerExternalId)}`, {
          body: { name: draft.name || null, quotas, permissions: customer.permissions },
        }),
      );
      say(t("Saved."));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  return html`<form class="form inside" onSubmit=${save}><fieldset class="form" disabled=${!writes.value}>
    ${h(Field, { label: t("Name"), value: draft.name, change: (value) => setDraft({ ...draft, name: value }) })}
    ${limits().map(
      ([name, title]) => html`<div class="limit" key=${name}>
      ${h(Field, { label: title, kind: "number", min: 0, value: draft[name], change: (value) => setDraft({ ...draft, [name]: value }), placeholder: String(customer.limits[name]) })}
      ${name in customer.used && html`<span class="quiet">${t("{used} of {limit} used", { used: number(customer.used[name]), limit: number(customer.limits[name]) })}</span>`}</div>`,
    )}
    <p class="quiet">${t("Empty: the limit of the plan.")}</p>
    ${error && h(Failure, { error })}
    ${writes.value && html`<div class="row"><button class="button primary">${t("Save")}</button></div>`}</fieldset></form>`;
}

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
  const portal = async () => {
    const session = await act(() => api.post("/embed/sessions", { customerExternalId: externalId, ttlSeconds: 900 }));
    if (session?.url) open(session.url, "_blank", "noopener");
    else if (session) say(t("This server has no portal: set ANGARIUM_PORTAL_URL."), { tone: "warn" });
  };
  return html`${h(
    Head,
    { title: customer.name ?? externalId, up },
    html`<a class="button" href=${at(`/events?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Its events")}</a>
      <a class="button" href=${at(`/deliveries?customerExternalId=${encodeURIComponent(externalId)}`)}>${t("Its deliveries")}</a>
      ${writes.value && html`<a class="button" href=${at(`/replays?new=1&customerAccountId=${customer.customerAccountId}&customer=${encodeURIComponent(externalId)}`)}>${t("Send again")}</a>`}`,
    writes.value && h(Button, { act: portal }, t("Open its portal")),
  )}
    <p class="row wrap quiet"><span class="wide-text">${externalId}</span>${h(Ident, { id: customer.customerAccountId })}</p>
    <div class="two"><section class="panel"><header><h2>${t("Destinations of its own")}</h2></header>
      ${h(Table, { label: t("Destinations"), columns: columns().filter((each) => each.on || each.title === t("Success")), list, id: (row) => row.destination.id, href: (row) => at(`/destinations/${row.destination.id}`), skeleton: 6, empty: h(Empty, { title: t("None is tied to this customer.") }, html`<p class="quiet">${t("Its events still reach the destinations that are tied to nobody.")}</p>`) })}
      ${h(More, { list })}</section>
    <section class="panel"><header><h2>${t("Name and limits")}</h2></header>${h(Quotas, { customer, changed: (next) => found.set(() => next) })}</section></div>`;
}
