/** The events: find one, watch them come, see which reached nobody, send one. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { asked, clear, query, setQuery } from "../../shared/router.js";
import { useStream } from "../../shared/stream.js";
import { Shell } from "../../shared/ui/command.js";
import { Empty } from "../../shared/ui/empty.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { Fresh } from "../../shared/parts/deliveries.js";
import { Sending } from "../parts/sending.js";
import { api, at, writes } from "../session.js";
import { DEEPER, zoned } from "../../shared/pages/deliveries.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "eventType", label: t("Event type"), placeholder: "order.created" },
  { name: "customerExternalId", label: t("Customer") },
  { name: "correlationId", label: t("Correlation"), rare: true },
  { name: "idempotencyKey", label: t("Idempotency key") },
  { name: "requestId", label: t("Request"), rare: true },
  { name: "undelivered", label: t("Reached"), options: ["true"], words: [t("nobody")] },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];

/** `correlated`: whether an event has a correlation. @type {(correlated?: boolean) => import("../../shared/ui/table.js").Column<any>[]} */
const columns = (correlated = false) => [
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
        : html`<span class=${row.origin === "OWN" ? "quiet" : "tag tone-warn"}>${t("nobody")}</span>`,
  },
  {
    title: t("Customer"),
    on: "sub",
    cell: (row) =>
      html`<span class="cut" title=${row.customerExternalId ?? ""}>${row.customerExternalId ?? "–"}</span>`,
  },
  ...(correlated
    ? [
        {
          title: t("Correlation"),
          cell: (/** @type {any} */ row) =>
            html`<span class="cut mono" title=${row.correlationId ?? ""}>${row.correlationId ?? ""}</span>`,
        },
      ]
    : []),
  {
    title: t("Idempotency key"),
    cell: (row) => html`<span class="cut mono" title=${row.idempotencyKey ?? ""}>${row.idempotencyKey ?? ""}</span>`,
  },
  { title: t("Origin"), width: "6rem", cell: (row) => html`<span class="quiet">${words(row.origin)}</span>` },
  {
    title: t("Received"),
    on: "end",
    number: true,
    width: "9rem",
    cell: (row) => html`<span class="quiet">${h(Moment, { at: row.receivedAt })}</span>`,
  },
];

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/events", zoned(given), DEEPER);
  const [fresh, setFresh] = useState(0);
  const key = JSON.stringify(given);
  const filtered = Object.keys(given).length > 0;
  useEffect(() => setFresh(0), [key]);
  useStream(
    api,
    "throughput",
    {},
    {
      throughput: (point) => {
        if (!filtered && point.accepted) setFresh((n) => n + point.accepted);
      },
    },
    found.reload,
  );
  const reload = () => {
    setFresh(0);
    found.reload();
  };
  const send = () => setQuery({ send: "1" });
  const empty = filtered
    ? h(
        Empty,
        { title: t("No event matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("No event has come yet.") },
        h(Shell, { text: 'angarium events send hello.world --data \'{"hello": "world"}\'' }),
      );
  return html`${h(
    Head,
    { title: t("Events"), live: true },
    writes.value &&
      html`<button type="button" class="button primary" data-key="n" onClick=${send}>${t("Send an event")}</button>`,
  )}
    ${h(Filters, { filters: filters() }, h(Fresh, { count: fresh, show: reload }))}
    <section class="panel">
      ${h(Table, {
        label: t("Events"),
        columns: columns(found.items?.some((/** @type {any} */ row) => row.correlationId)),
        list: found,
        empty,
        id: (row) => row.id,
        href: (row) => at(`/events/${row.id}`),
        skeleton: 18,
      })}
      ${h(More, { list: found })}
    </section>
    ${
      query().send &&
      writes.value &&
      h(Sending, {
        close: () => {
          setQuery({ send: null });
          reload();
        },
      })
    }`;
}
