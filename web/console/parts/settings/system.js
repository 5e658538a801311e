/** The servers of the installation, with their versions and loads: only a key that manages the installation sees them. */
import { h, html, useMemo } from "../../../vendor/preact.js";
import { rate, words } from "../../../shared/format.js";
import { locale, number, t } from "../../../shared/i18n.js";
import { usePages } from "../../../shared/resource.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Moment } from "../../../shared/ui/moment.js";
import { More } from "../../../shared/ui/more.js";
import { State } from "../../../shared/ui/state.js";
import { Empty, Table } from "../../../shared/ui/table.js";
import { api } from "../../session.js";

/** @type {Record<string, string>} the shape of each state of a server */
const SHAPES = { LIVE: "ON", SILENT: "DEGRADED", DEAD: "FAILED" };

/** @type {() => import("../../../shared/ui/table.js").Column<any>[]} */
const columns = () => [
  { title: t("Server"), on: "main", cell: (row) => html`<span title=${row.address}>${row.name}</span>` },
  {
    title: t("State"),
    on: "side",
    width: "8rem",
    cell: ({ state }) => h(State, { name: SHAPES[state], word: words(state) }),
  },
  { title: t("Version"), on: "sub", width: "8rem", cell: (row) => row.version },
  { title: t("Started"), width: "10rem", cell: (row) => h(Moment, { at: row.startedAt, relative: true }) },
  {
    title: t("Delivered"),
    number: true,
    width: "8rem",
    cell: (row) => html`${rate(row.deliveredPerSecond)} <span class="quiet">${t("a second")}</span>`,
  },
  { title: t("Waiting"), on: "end", named: true, number: true, width: "8rem", cell: (row) => number(row.waiting) },
];

export function System() {
  const list = usePages(api, "/observability/nodes", {});
  if (list.error && !list.items) return h(Failure, { error: list.error, retry: list.reload });
  return html`<section class="panel"><header><h2>${t("Servers")}</h2></header>
    ${h(Table, { label: t("Servers"), columns: useMemo(columns, [locale.value]), list, id: (row) => row.id, empty: h(Empty, { title: t("No server is known.") }) })}
    ${h(More, { list })}</section>`;
}
