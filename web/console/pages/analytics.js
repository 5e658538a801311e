/** The analytics of all destinations or of one customer's, over an hour to a month, with the busiest destinations. */
import { h, html } from "../../vendor/preact.js";
import { percent } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { query, setQuery } from "../../shared/router.js";
import { Empty, Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { DestinationName, useNames } from "../../shared/names.js";
import { Period } from "../parts/period.js";
import { at } from "../session.js";

/** @type {() => import("../../shared/ui/table.js").Column<any>[]} */
const columns = () => [
  { title: t("Destination"), on: "main", cell: (row) => h(DestinationName, { id: row.destinationId, plain: true }) },
  { title: t("Attempts"), number: true, on: "end", named: true, width: "5.5rem", cell: (row) => number(row.attempts) },
  {
    title: t("Success"),
    number: true,
    on: "side",
    width: "5rem",
    cell: (row) => percent(row.attempts ? 1 - row.failed / row.attempts : null),
  },
  {
    title: t("Dead"),
    number: true,
    width: "4rem",
    cell: (row) =>
      row.deadLettered
        ? html`<span class="bad">${number(row.deadLettered)}</span>`
        : html`<span class="quiet">0</span>`,
  },
];

/** @param {{items: any[]}} props `items`: the destinations with the most attempts */
function Busiest({ items }) {
  const { period } = query();
  const href = (/** @type {any} */ row) =>
    at(`/destinations/${row.destinationId}/analytics${period ? `?period=${period}` : ""}`);
  return html`<section class="panel"><header><h2>${t("Most attempts")}</h2><a href=${at("/destinations")}>${t("All destinations")}</a></header>
    ${h(Table, { label: t("Most attempts"), columns: columns(), list: { items }, id: (row) => row.destinationId, href, empty: h(Empty, { title: t("Nothing was delivered in this period.") }) })}</section>`;
}

export function Page() {
  const { customerAccountId, customer } = query();
  useNames();
  return html`${h(Head, { title: t("Analytics") })}
    ${
      customerAccountId &&
      html`<p class="row wrap"><span>${t("Destinations of the customer")} <a href=${at(`/customers/${encodeURIComponent(customer ?? "")}`)}>${customer ?? customerAccountId}</a></span>
      <button type="button" class="button bare" onClick=${() => setQuery({ customerAccountId: null, customer: null })}>${t("All customers")}</button></p>`
    }
    ${h(Period, {
      path: "/observability/analytics",
      asked: { customerAccountId },
      given: customer ? { customerExternalId: customer } : {},
      beside: (found) => h(Busiest, { items: found.topDestinations }),
    })}`;
}
