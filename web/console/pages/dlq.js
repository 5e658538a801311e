/** The dead letters by cause: inspect one, retry a few and watch them, then retry or discard the rest. */
import { h, html, useState } from "../../vendor/preact.js";
import { hoursAgo, words } from "../../shared/format.js";
import { number, t, tn } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { asked, clear, query, setQuery } from "../../shared/router.js";
import { useStream } from "../../shared/stream.js";
import { Empty, Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { Head } from "../../shared/head.js";
import { DestinationName, OwnerName, useNames } from "../../shared/names.js";
import { Letters } from "../parts/letters.js";
import { Triage } from "../parts/triage.js";
import { api, at, writes } from "../session.js";
import { zoned } from "../../shared/pages/deliveries.js";
import { ERROR_CATEGORIES } from "../../shared/words.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "destinationId", label: t("Destination"), named: true },
  { name: "eventType", label: t("Event type") },
  { name: "errorCategory", label: t("Last error"), options: ERROR_CATEGORIES },
  { name: "signature", label: t("Cause (id)"), rare: true },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];

/** Show what died in the last hour. */
function lastHour() {
  setQuery({ from: hoursAgo(1), to: null });
}

/** @param {{group: any, changed: () => void}} props */
function Cause({ group, changed }) {
  const [sorts, setSorts] = useState("");
  const count = number(group.count) + (group.atLeast ? "+" : "");
  return html`<li class="cause">
    <div class="stack tight">
      <strong class="wide-text">${group.lastError ?? words(group.errorCategory)}</strong>
      <span class="row wrap quiet">${h(DestinationName, { id: group.destinationId })}${h(OwnerName, { id: group.destinationId })}<span>${words(group.errorCategory)}</span>
        <span class="mono">${group.eventTypes.slice(0, 3).join(", ")}${group.eventTypes.length > 3 ? " …" : ""}</span></span>
      <span class="row wrap quiet"><span>${t("First")} ${h(Moment, { at: group.firstAt, relative: true })}</span><span>· ${t("last")} ${h(Moment, { at: group.lastAt, relative: true })}</span>
        <a class="opener" href=${at(`/deliveries/${group.sampleId}`)}>${t("See one")}</a>
        <a href=${at(`/dlq?view=list&destinationId=${group.destinationId}&signature=${group.signature}`)}>${t("List them")}</a></span>
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

/** The deliveries from which the next dead letter could come. */
function Retried() {
  const found = useResource((signal) => api.get("/observability/counts", {}, signal), []);
  const n = found.data?.retrying ?? 0;
  if (found.data && !n)
    return html`<p class="quiet">${t("No delivery is being retried, so no dead letter can follow soon.")}</p>`;
  return html`<a class="button" href=${at("/deliveries?status=RETRYING")}>${n ? tn("{n} delivery is being retried", "{n} deliveries are being retried", n) : t("Deliveries that are being retried")}</a>`;
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
        html`<p class="quiet">${t("A delivery comes here when its last attempt fails, or when its receiver no longer exists.")}</p>`,
        h(Retried, {}),
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
    <p><button type="button" class="link" onClick=${lastHour}>${t("The last hour")}</button></p>
    <section class="panel">${view === "list" ? h(Letters, { given: zoned(given), empty }) : h(Causes, { given, empty })}</section>`;
}
