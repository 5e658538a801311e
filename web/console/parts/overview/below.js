/** The lower half of the overview: the last minute as a chart, and the last changes. It is loaded after the first view. */
import { h, html } from "../../../vendor/preact.js";
import { words } from "../../../shared/format.js";
import { t } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Moment } from "../../../shared/ui/moment.js";
import { Table } from "../../../shared/ui/table.js";
import { useNames } from "../../../shared/names.js";
import { actionOf, labelOf, whoOf } from "../changes.js";
import { useKeyNames } from "../key-names.js";
import { api, at } from "../../session.js";

function Changes() {
  const names = useNames();
  const keys = useKeyNames();
  const found = useResource((signal) => api.get("/audit-logs", { limit: 6 }, signal), []);
  const columns = /** @type {import("../../../shared/ui/table.js").Column<any>[]} */ ([
    { title: t("Action"), on: "main", cell: (row) => html`<span title=${actionOf(row)}>${actionOf(row)}</span>` },
    {
      title: t("Object"),
      on: "sub",
      cell: (row) => html`<span title=${labelOf(row, names)}>${labelOf(row, names)}</span>`,
    },
    {
      title: t("Who"),
      width: "6.5rem",
      cell: (row) =>
        html`<span class="quiet" title=${whoOf(row, keys)}>${(row.actorType !== "CONSOLE" && keys[row.actorId]) || words(row.actorType)}</span>`,
    },
    {
      title: t("When"),
      on: "side",
      number: true,
      width: "6rem",
      cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt, relative: true })}</span>`,
    },
  ]);
  return html`<section class="panel"><header><h2>${t("Last changes")}</h2><a href=${at("/audit")}>${t("Audit log")}</a></header>
    ${h(Table, { label: t("Last changes"), columns, list: { ...found, items: found.data?.items ?? null }, id: (row) => row.id, href: (row) => at(`/audit?objectId=${row.objectId}`), skeleton: 6 })}
  </section>`;
}

/** @param {{series: any[]}} props `series`: counts of each second */
export function Below({ series }) {
  const values = (/** @type {string} */ name) => series.map((each) => each[name]);
  return html`<div class="halves">
    <section class="panel"><header><h2>${t("The last minute")}</h2></header><div class="inside">${h(Chart, {
      times: values("at"),
      unit: t("per second"),
      series: [
        { name: t("Accepted"), tone: "muted", dashed: true, values: values("accepted") },
        { name: t("Delivered"), tone: "accent", values: values("delivered") },
        { name: t("Failed attempts"), tone: "bad", values: values("failed") },
      ],
    })}</div></section>
    ${h(Changes, {})}
  </div>`;
}
