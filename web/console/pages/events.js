/** The list of events: find one, watch new ones, find those without a delivery, send one. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { asked, clear, query, setQuery } from "../../shared/router.js";
import { useStream } from "../../shared/stream.js";
import { Shell } from "../../shared/ui/command.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { Empty, Table } from "../../shared/ui/table.js";
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
  { name: "undelivered", label: t("Deliveries"), options: ["true", "false"], words: [t("none"), t("some")] },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];

const PAGES = 2; // of deliveries that failed or wait: more would cost as much as the list
const WAITED_MS = 10_000; // a delivery that waits for less is on its way

/** @typedef {{items: any[], since: string}} Troubles deliveries that failed or wait, of events with ids above `since` */
/** @type {Troubles} */
const UNKNOWN = { items: [], since: "~" };

/** The troubles of a list's events. @param {any[] | null} rows newest first @returns {Troubles} */
function useTroubles(rows) {
  const [last, first] = [rows?.[0], rows?.at(-1)];
  const found = useResource(
    async (signal) => {
      if (!last) return UNKNOWN;
      const to = new Date(new Date(last.receivedAt).getTime() + 1).toISOString();
      const wanted = {
        status: ["FAILED", "RETRYING", "PENDING"],
        originKind: "NORMAL",
        from: first.receivedAt,
        to,
        limit: 100,
      };
      /** @type {any[]} */
      const items = [];
      let cursor = "";
      for (let page = 0; page < PAGES && cursor !== null; page++) {
        const answer = await api.get("/deliveries", cursor ? { ...wanted, cursor } : wanted, signal);
        items.push(...answer.items);
        cursor = answer.nextCursor;
      }
      const late = Date.now() - WAITED_MS;
      const told = items.filter((each) => each.status !== "PENDING" || new Date(each.createdAt).getTime() < late);
      return { items: told, since: cursor === null ? "" : (items.at(-1)?.eventId ?? UNKNOWN.since) };
    },
    [last?.id, first?.id],
    true,
  );
  return found.data ?? UNKNOWN;
}

/** How many deliveries an event has, and how many of them failed or wait. @param {{row: any, troubles: Troubles}} props */
function Reach({ row, troubles }) {
  if (!row.deliveries) return html`<span class=${row.origin === "OWN" ? "quiet" : "tag tone-warn"}>${t("none")}</span>`;
  const own = troubles.items.filter((each) => each.eventId === row.id);
  const dead = own.filter((each) => each.status === "FAILED").length;
  const rest = own.length - dead;
  const known = own.length > 0 || row.id > troubles.since;
  return html`${dead > 0 && html`<span class="tag tone-bad">${t("{n} failed", { n: number(dead) })}</span>`}
    ${rest > 0 && html` <span class="tag tone-warn">${t("{n} waiting", { n: number(rest) })}</span>`}
    ${!known && html`<span class="quiet" title=${t("Failed deliveries of this event were not counted.")}>?</span>`} ${number(row.deliveries)}`;
}

/** `shown`: the optional columns that some event of the list fills. @type {(shown: {correlation?: boolean, key?: boolean}, troubles: Troubles) => import("../../shared/ui/table.js").Column<any>[]} */
const columns = (shown, troubles) => [
  { title: t("Event type"), on: "main", cell: (row) => html`<span title=${row.eventType}>${row.eventType}</span>` },
  {
    title: t("Deliveries"),
    number: true,
    on: "side",
    named: true,
    width: "13rem",
    cell: (row) => h(Reach, { row, troubles }),
  },
  {
    title: t("Customer"),
    on: "sub",
    cell: (row) =>
      html`<span class="cut" title=${row.customerExternalId ?? ""}>${row.customerExternalId ?? "–"}</span>`,
  },
  ...(shown.correlation
    ? [
        {
          title: t("Correlation"),
          cell: (/** @type {any} */ row) =>
            html`<span class="cut mono" title=${row.correlationId ?? ""}>${row.correlationId ?? ""}</span>`,
        },
      ]
    : []),
  ...(shown.key
    ? [
        {
          title: t("Idempotency key"),
          cell: (/** @type {any} */ row) =>
            html`<span class="cut mono" title=${row.idempotencyKey ?? ""}>${row.idempotencyKey ?? ""}</span>`,
        },
      ]
    : []),
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
  const troubles = useTroubles(found.items);
  const has = (/** @type {string} */ name) => found.items?.some((/** @type {any} */ row) => row[name]);
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
        { title: t("No event has arrived yet.") },
        h(Shell, { text: 'angarium events send hello.world --data \'{"hello": "world"}\'' }),
      );
  return html`${h(
    Head,
    { title: t("Events"), live: true },
    writes.value &&
      html`<a class="button" href=${at(`/schemas?new=1&type=${encodeURIComponent(given.eventType ?? "")}`)}>${t("Infer a schema")}</a>
      <button type="button" class="button primary" data-key="n" onClick=${send}>${t("Send an event")}</button>`,
  )}
    ${h(Filters, { filters: filters() }, h(Fresh, { count: fresh, show: reload }))}
    <section class="panel">
      ${h(Table, {
        label: t("Events"),
        columns: columns({ correlation: has("correlationId"), key: has("idempotencyKey") }, troubles),
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
