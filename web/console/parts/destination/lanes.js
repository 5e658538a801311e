/** The lanes of an ordered destination: the head of each, and the number of waiting deliveries. */
import { h, html } from "../../../vendor/preact.js";
import { duration, words } from "../../../shared/format.js";
import { number, t, tn } from "../../../shared/i18n.js";
import { usePages } from "../../../shared/resource.js";
import { now, Until } from "../../../shared/ui/moment.js";
import { State } from "../../../shared/ui/state.js";
import { More } from "../../../shared/ui/more.js";
import { Empty, Table } from "../../../shared/ui/table.js";
import { api, at } from "../../session.js";
import { Problem, stateOf } from "../../../shared/parts/deliveries.js";

/** @type {() => import("../../../shared/ui/table.js").Column<any>[]} */
const columns = () => [
  {
    title: t("Lane"),
    on: "main",
    cell: (row) => html`<span title=${row.key ?? ""}>${row.key ?? words(row.kind)}</span>`,
  },
  {
    title: t("State of the first"),
    on: "side",
    width: "9rem",
    cell: (row) => (row.head ? h(State, { name: stateOf(row.head) }) : "–"),
  },
  {
    title: t("First delivery"),
    on: "sub",
    cell: (row) => (row.head ? html`<a href=${at(`/deliveries/${row.head.id}`)}>${row.head.eventType}</a>` : "–"),
  },
  { title: t("Last error"), cell: (row) => row.head && h(Problem, { row: row.head }) },
  { title: t("Attempts"), number: true, width: "5rem", cell: (row) => number(row.head?.attemptCount) },
  {
    title: t("Next attempt"),
    number: true,
    width: "8rem",
    cell: (row) => (row.until ? h(Until, { until: row.until }) : t("now")),
  },
  {
    title: t("Longest wait"),
    number: true,
    width: "8rem",
    cell: (row) => (row.head ? duration(now.value - new Date(row.head.createdAt).getTime()) : "–"),
  },
  {
    title: t("Behind it"),
    number: true,
    on: "end",
    width: "7rem",
    cell: (row) => tn("{n} behind", "{n} behind", row.depth - 1) + (row.atLeast ? "+" : ""),
  },
];

/** @param {{destination: any}} props */
export function Lanes({ destination }) {
  const { ordering } = destination.delivery;
  const found = usePages(api, `/destinations/${destination.id}/lanes`, {});
  if (ordering === "NONE")
    return h(
      Empty,
      { title: t("This destination has no lanes.") },
      html`<p class="quiet">${t("The destination's deliveries are sent in any order. Its settings can require an order: per customer, or strict.")}</p>`,
    );
  return html`<section class="panel">${h(Table, { label: t("Lanes"), columns: columns(), list: found, id: (row) => row.key ?? row.kind, href: (row) => at(row.head ? `/deliveries/${row.head.id}` : `/destinations/${destination.id}`), empty: h(Empty, { title: t("Nothing waits in any lane.") }) })}
    ${h(More, { list: found })}</section>`;
}
