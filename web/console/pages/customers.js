/** The end-customers: find one by the beginning of its id, and see those whose own destinations are in trouble. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { asked, clear } from "../../shared/router.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { State } from "../../shared/ui/state.js";
import { Empty, Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { api, at } from "../session.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [{ name: "prefix", label: t("Id begins with"), placeholder: "acme" }];

const WORST = 100; // destinations that are loaded, those in trouble first
const TROUBLE = ["FAILING", "DEGRADED", "DISABLED"];

/** Return the state of each customer's worst destination, if that one is in trouble. @param {any[]} summaries the worst first */
const worstOf = (summaries) =>
  new Map(
    summaries
      .filter(({ health, destination }) => TROUBLE.includes(health.state) && destination.customerExternalId)
      .map(
        ({ health, destination }) => /** @type {[string, string]} */ ([destination.customerExternalId, health.state]),
      )
      .reverse(),
  );

/** @type {(worst: Map<string, string>) => import("../../shared/ui/table.js").Column<any>[]} */
const columns = (worst) => [
  {
    title: t("Customer"),
    on: "main",
    cell: (row) => html`<span title=${row.customerExternalId}>${row.customerExternalId}</span>`,
  },
  {
    title: t("Name"),
    on: "sub",
    cell: (row) => html`<span class="cut" title=${row.name ?? ""}>${row.name ?? ""}</span>`,
  },
  {
    title: t("Its destinations"),
    on: "side",
    width: "9rem",
    cell: (row) => {
      const state = worst.get(row.customerExternalId);
      return state ? h(State, { name: state }) : html`<span class="quiet">–</span>`;
    },
  },
  {
    title: t("Own quotas"),
    width: "9rem",
    cell: (row) =>
      Object.values(row.quotas).some((each) => each !== null) ? t("yes") : html`<span class="quiet">–</span>`,
  },
  {
    title: t("Known since"),
    number: true,
    on: "end",
    width: "10rem",
    cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
  },
];

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/customers", given);
  const worst = useResource(
    (signal) => api.get("/destinations/summaries", { sort: "trouble", limit: WORST }, signal),
    [],
  );
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No customer matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("No customer is known yet.") },
        html`<p class="quiet">${t("A customer appears here with the first event that has its customerExternalId.")}</p>`,
      );
  return html`${h(Head, { title: t("Customers") })}${h(Filters, { filters: filters() })}
    <section class="panel">${h(Table, { label: t("Customers"), columns: columns(worstOf(worst.data?.items ?? [])), list: found, empty, id: (row) => row.customerExternalId, href: (row) => at(`/customers/${encodeURIComponent(row.customerExternalId)}`), skeleton: 18 })}
      ${h(More, { list: found })}</section>`;
}
