/** The event types with a schema, to which an endpoint can subscribe. */
import { h, html } from "../../vendor/preact.js";
import { api, at } from "../../shared/api.js";
import { Head } from "../../shared/head.js";
import { t } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { More } from "../../shared/ui/more.js";
import { Moment } from "../../shared/ui/moment.js";
import { Empty, Table } from "../../shared/ui/table.js";

export function Page() {
  const found = usePages(api, "/schemas", { status: "ACTIVE" });
  const columns = /** @type {import("../../shared/ui/table.js").Column<any>[]} */ ([
    { title: t("Event type"), on: "main", cell: (row) => html`<span title=${row.eventType}>${row.eventType}</span>` },
    {
      title: t("Description"),
      on: "sub",
      cell: (row) => html`<span class="quiet" title=${row.description}>${row.description}</span>`,
    },
    { title: t("Version"), number: true, on: "side", width: "6rem", cell: (row) => row.version },
    { title: t("Since"), number: true, on: "end", width: "9rem", cell: (row) => h(Moment, { at: row.activatedAt }) },
  ]);
  return html`${h(Head, { title: t("Event types") })}<section class="panel">
    ${h(Table, {
      label: t("Event types"),
      columns,
      list: found,
      id: (row) => row.id,
      href: (row) => at(`/types/${encodeURIComponent(row.eventType)}`),
      empty: h(
        Empty,
        { title: t("No event type is described yet.") },
        html`<p class="quiet">${t("An endpoint that subscribes to * gets every event type.")}</p>`,
      ),
    })}
    ${h(More, { list: found })}</section>`;
}
