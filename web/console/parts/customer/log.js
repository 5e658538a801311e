/** The activity of a customer: its own destinations, their latest deliveries, and the latest events that name the customer. */
import { h, html, useEffect, useMemo } from "../../../vendor/preact.js";
import { locale, number, t } from "../../../shared/i18n.js";
import { usePages, useResource } from "../../../shared/resource.js";
import { useStream, withHealth } from "../../../shared/stream.js";
import { Moment } from "../../../shared/ui/moment.js";
import { More } from "../../../shared/ui/more.js";
import { Empty, Table } from "../../../shared/ui/table.js";
import { learnNames } from "../../../shared/names.js";
import { columns as destinationColumns } from "../../../shared/pages/destinations.js";
import { columns as deliveryColumns, link, merged } from "../../../shared/parts/deliveries.js";
import { api, at } from "../../session.js";

const SHOWN = 10; // deliveries, and events

/** @type {() => import("../../../shared/ui/table.js").Column<any>[]} */
const eventColumns = () => [
  { title: t("Event type"), on: "main", cell: (row) => html`<span title=${row.eventType}>${row.eventType}</span>` },
  {
    title: t("Deliveries"),
    number: true,
    on: "side",
    named: true,
    width: "7rem",
    cell: (row) =>
      row.deliveries
        ? number(row.deliveries)
        : html`<span class=${row.origin === "OWN" ? "quiet" : "tag tone-warn"}>${t("none")}</span>`,
  },
  {
    title: t("Received"),
    on: "end",
    number: true,
    width: "9rem",
    cell: (row) => html`<span class="quiet">${h(Moment, { at: row.receivedAt })}</span>`,
  },
];

/** @param {{customer: any}} props */
function Events({ customer: { customerExternalId } }) {
  const found = useResource(
    (signal) => api.get("/events", { customerExternalId, limit: SHOWN }, signal),
    [customerExternalId],
  );
  return html`<section class="panel"><header><h2>${t("Its last events")}</h2><a href=${at(`/events?customerExternalId=${encodeURIComponent(customerExternalId)}`)}>${t("All of them")}</a></header>
    ${h(Table, { label: t("Its last events"), columns: useMemo(eventColumns, [locale.value]), list: { ...found, items: found.data?.items ?? null }, id: (row) => row.id, href: (row) => at(`/events/${row.id}`), skeleton: SHOWN, empty: h(Empty, { title: t("This customer has no events yet.") }) })}</section>`;
}

/** @param {{customer: any}} props */
export function Log({ customer }) {
  const { customerExternalId, customerAccountId } = customer;
  const list = usePages(api, "/destinations/summaries", { customerExternalId });
  const deliveries = useResource(
    (signal) => api.get("/deliveries", { customerExternalId, limit: SHOWN }, signal),
    [customerExternalId],
  );
  const items = list.items;
  useEffect(() => {
    const found = (items ?? []).map((/** @type {any} */ { destination }) => [destination.id, destination.name]);
    learnNames(Object.fromEntries(found));
  }, [items]);
  useStream(
    api,
    "health,deliveries",
    { customerExternalId },
    {
      health: (told) => list.set((old) => ({ ...old, items: withHealth(old.items, told.items) })),
      deliveries: (told) => deliveries.set((old) => ({ ...old, items: merged(old.items, told.items).rows })),
    },
    () => {
      list.reload();
      deliveries.reload();
    },
  );
  const shown = useMemo(destinationColumns, [locale.value]);
  const last = useMemo(
    () => deliveryColumns().filter((each) => each.on || [t("Last error"), t("Next attempt")].includes(each.title)),
    [locale.value],
  );
  const analytics = `/analytics?${new URLSearchParams({ customerAccountId, customer: customerExternalId })}`;
  const all = at(`/deliveries?customerExternalId=${encodeURIComponent(customerExternalId)}`);
  return html`<section class="panel"><header><h2>${t("Its own destinations")}</h2><a href=${at(analytics)}>${t("Analytics")}</a></header>
      ${h(Table, { label: t("Destinations"), columns: shown, list, id: (row) => row.destination.id, href: (row) => at(`/destinations/${row.destination.id}`), skeleton: 3, empty: h(Empty, { title: t("No destination belongs to this customer.") }, html`<p class="quiet">${t("Its events still reach destinations that belong to no customer.")}</p>`) })}
      ${h(More, { list })}</section>
    ${
      items && !items.length
        ? h(Events, { customer })
        : html`<section class="panel"><header><h2>${t("Last deliveries, including waiting ones")}</h2><a href=${all}>${t("All of them")}</a></header>
        ${h(Table, { label: t("Last deliveries, including waiting ones"), columns: last, list: { ...deliveries, items: deliveries.data?.items ?? null }, id: (row) => row.id, href: link, skeleton: SHOWN, empty: h(Empty, { title: t("Nothing has been delivered yet.") }) })}</section>
      ${items && deliveries.data && h(Events, { customer })}`
    }`;
}
