/** The audit log: each change with its actor, and the values before and after; filters by object and time. */
import { h, html, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { t } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { Empty, Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { asked, clear } from "../../shared/router.js";
import { Filters } from "../../shared/ui/filters.js";
import { Ident } from "../../shared/ui/ident.js";
import { Moment } from "../../shared/ui/moment.js";
import { More } from "../../shared/ui/more.js";
import { Head } from "../../shared/head.js";
import { useNames } from "../../shared/names.js";
import { actionOf, labelOf, members, said, whoOf } from "../parts/changes.js";
import { useKeyNames } from "../parts/key-names.js";
import { api, at } from "../session.js";
import { zoned } from "../../shared/pages/deliveries.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "action", label: t("Action"), placeholder: "destination.update" },
  { name: "objectType", label: t("Kind") },
  { name: "objectId", label: t("Object"), placeholder: t("Id") },
  { name: "actorId", label: t("Who"), placeholder: t("Id"), rare: true },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];
/** @type {Record<string, string>} */
const PLACES = {
  destination: "/destinations/",
  replay_job: "/replays/",
  delivery: "/deliveries/",
  routing_rule: "/rules?open=",
};

/** @param {{entry: any}} props */
function Entry({ entry }) {
  const [open, setOpen] = useState(false);
  const changes = Object.entries(entry.changes ?? {}).flatMap(([name, /** @type {any} */ { from, to }]) =>
    members(name, from, to),
  );
  const place = PLACES[entry.objectType];
  const names = useNames();
  const who = whoOf(entry, useKeyNames());
  return html`<li><button type="button" class="entry" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <strong>${actionOf(entry)}</strong>
      <span class="cut">${labelOf(entry, names)} <span class="quiet">${changes.map(({ name }) => name).join(", ")}</span></span>
      <span class="cut" title=${who}>${who}</span>
      <span class="number quiet">${h(Moment, { at: entry.createdAt })}</span></button>
    ${
      open &&
      html`<div class="exchange stack">
      ${
        changes.length > 0 &&
        html`<table class="table plain changes"><thead><tr><th scope="col">${t("Field")}</th><th scope="col">${t("Before")}</th><th scope="col">${t("After")}</th></tr></thead>
        <tbody>${changes.map(({ name, from, to }) => html`<tr><th scope="row">${name}</th><td class="mono">${said(from)}</td><td class="mono">${said(to)}</td></tr>`)}</tbody></table>`
      }
      <dl class="facts"><dt>${t("Object")}</dt><dd class="row wrap">${words(entry.objectType)} ${h(Ident, { id: entry.objectId, ...(place ? { href: at(place + encodeURIComponent(entry.objectId)) } : {}) })}
          <a href=${at(`/audit?objectId=${encodeURIComponent(entry.objectId)}`)}>${t("All changes to this object")}</a></dd>
        <dt>${t("Who")}</dt><dd class="row wrap">${who} ${h(Ident, { id: entry.actorId })}<a href=${at(`/audit?actorId=${encodeURIComponent(entry.actorId)}`)}>${t("All changes by this actor")}</a></dd>
        ${entry.requestId && html`<dt>${t("Request")}</dt><dd>${h(Ident, { id: entry.requestId, whole: true })}</dd>`}
        ${entry.previousFingerprint && html`<dt>${t("Previous key")}</dt><dd class="mono">${entry.previousFingerprint}</dd>`}</dl></div>`
    }
  </li>`;
}

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/audit-logs", zoned(given));
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No change matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(Empty, { title: t("Nothing has been changed yet.") });
  return html`${h(Head, { title: t("Audit log") })}${h(Filters, { filters: filters() })}
    <section class="panel" aria-busy=${found.stale ? "true" : null}>${found.error && h(Failure, { error: found.error, retry: found.reload })}
      ${
        !found.items
          ? !found.error && h(Skeleton, { rows: 18 })
          : !found.items.length
            ? empty
            : html`<div class="entry-head" aria-hidden="true"><span>${t("Action")}</span><span>${t("Object, and what changed")}</span><span>${t("Who")}</span><span class="number">${t("When")}</span></div><ul class="attempts">${found.items.map((/** @type {any} */ entry) => h(Entry, { key: entry.id, entry }))}</ul>
        ${h(More, { list: found })}`
      }</section>`;
}
