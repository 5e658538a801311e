/** The dead letters by cause: see one, retry a few, watch them, then retry the rest or discard them. */
import { h, html, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { number, t, tn } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { asked, clear, query } from "../../shared/router.js";
import { useStream } from "../../shared/stream.js";
import { Empty, Skeleton } from "../../shared/ui/empty.js";
import { Failure } from "../../shared/ui/failure.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { Table } from "../../shared/ui/table.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { Head } from "../../shared/head.js";
import { DestinationName, useNames } from "../../shared/names.js";
import { columns, link } from "../../shared/parts/deliveries.js";
import { Triage } from "../parts/triage.js";
import { api, at, writes } from "../session.js";
import { zoned } from "../../shared/pages/deliveries.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "destinationId", label: t("Destination"), named: true },
  { name: "eventType", label: t("Event type") },
  {
    name: "errorCategory",
    label: t("Last error"),
    options: [
      "TIMEOUT",
      "DNS",
      "CONNECTION",
      "TLS",
      "HTTP_4XX",
      "HTTP_5XX",
      "RATE_LIMITED",
      "TRANSFORM",
      "DESTINATION_GONE",
    ],
  },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];

/** @param {{group: any, changed: () => void}} props */
function Cause({ group, changed }) {
  const [sorts, setSorts] = useState("");
  const count = number(group.count) + (group.atLeast ? "+" : "");
  return html`<li class="cause">
    <div class="stack tight">
      <strong class="wide-text">${group.lastError ?? words(group.errorCategory)}</strong>
      <span class="row wrap quiet">${h(DestinationName, { id: group.destinationId })}<span>${words(group.errorCategory)}</span>
        <span class="mono">${group.eventTypes.slice(0, 3).join(", ")}${group.eventTypes.length > 3 ? " …" : ""}</span></span>
      <span class="row wrap quiet"><span>${t("First")} ${h(Moment, { at: group.firstAt, relative: true })}</span><span>${t("last")} ${h(Moment, { at: group.lastAt, relative: true })}</span>
        <a href=${at(`/deliveries/${group.sampleId}`)}>${t("See one")}</a>
        <a href=${at(`/dlq?view=list&destinationId=${group.destinationId}`)}>${t("List them")}</a></span>
    </div>
    <span class="value bad">${count}</span>
    ${
      writes.value &&
      html`<div class="row wrap">
      <button type="button" class="button" aria-expanded=${sorts === "retry"} onClick=${() => setSorts(sorts === "retry" ? "" : "retry")}>${t("Retry")}</button>
      <button type="button" class="button danger" aria-expanded=${sorts === "discard"} onClick=${() => setSorts(sorts === "discard" ? "" : "discard")}>${t("Discard")}</button></div>`
    }
    ${
      sorts &&
      h(Triage, {
        key: sorts,
        group,
        verb: sorts,
        done: () => {
          setSorts("");
          changed();
        },
      })
    }
  </li>`;
}

/** @param {{given: Record<string, string>, empty: any}} props */
function Causes({ given, empty }) {
  const found = usePages(api, "/dlq/groups", zoned(given));
  useStream(api, "dlq", {}, { dlq: () => found.reload() }, found.reload);
  const items = found.items;
  if (!items) return found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 8 });
  if (!items.length) return html`${empty}${found.searchedTo && h(More, { list: found })}`;
  const total = items.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.count, 0);
  const more = found.more || items.some((/** @type {any} */ each) => each.atLeast);
  return html`<p class="inside quiet">${tn("{n} cause", "{n} causes", items.length)}, ${tn("{n} dead letter", "{n} dead letters", total)}${more ? "+" : ""}</p>
    <ul class="causes" aria-busy=${found.stale ? "true" : null}>${items.map((/** @type {any} */ group) => h(Cause, { key: group.signature, group, changed: found.reload }))}</ul>
    ${h(More, { list: found })}`;
}

/** @param {{given: Record<string, string>, empty: any}} props */
function Letters({ given, empty }) {
  const found = usePages(api, "/dlq", zoned(given));
  return html`${h(Table, { label: t("Dead letters"), columns: columns(), list: found, id: (row) => row.deliveryId, href: link, empty, skeleton: 18 })}
    ${h(More, { list: found })}`;
}

export function Page() {
  const given = asked(filters());
  const { view = "causes" } = query();
  useNames();
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No dead letter matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("No dead letters.") },
        html`<p class="quiet">${t("A delivery comes here when its retry schedule is used up, or its receiver is gone.")}</p>
      <a class="button" href=${at("/deliveries?status=RETRYING")}>${t("Deliveries that are being retried")}</a>`,
      );
  const rest = new URLSearchParams(given).toString();
  return html`${h(Head, { title: t("Dead letters"), live: view === "causes" })}
    ${h(Tabs, {
      label: t("Views of the dead letters"),
      now: view,
      tabs: [
        ["causes", t("By cause"), at(`/dlq?${rest}`)],
        ["list", t("One by one"), at(`/dlq?view=list&${rest}`)],
      ],
    })}
    ${h(Filters, { filters: filters() })}
    <section class="panel">${view === "list" ? h(Letters, { given, empty }) : h(Causes, { given, empty })}</section>`;
}
