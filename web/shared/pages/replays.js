/** The list of replay jobs: start one after a count, and watch the running ones. */
import { h, html } from "../../vendor/preact.js";
import { percent, words } from "../format.js";
import { number, t, tn } from "../i18n.js";
import { usePages } from "../resource.js";
import { asked, clear, query, setQuery } from "../router.js";
import { useStream } from "../stream.js";
import { Filters } from "../ui/filters.js";
import { Moment } from "../ui/moment.js";
import { State } from "../ui/state.js";
import { More } from "../ui/more.js";
import { Empty, Table } from "../ui/table.js";
import { Head } from "../head.js";
import { DestinationName, useNames } from "../names.js";
import { Replaying } from "../parts/replaying.js";
import { api, at, may, whole } from "../api.js";
import { JOB_KINDS, REPLAY_STATUSES } from "../words.js";

/** @returns {import("../ui/filters.js").Filter[]} */
const filters = () => [
  { name: "kind", label: t("Kind"), options: JOB_KINDS },
  { name: "status", label: t("State"), options: REPLAY_STATUSES },
];

/** The title of the list. The portal calls replays recoveries. */
export const listTitle = () => (whole ? t("Replays") : t("Recoveries"));

export const newTitle = () => (whole ? t("New replay") : t("Recover deliveries"));

/** The part that is done, from 0 to 1. @param {any} job */
export function done(job) {
  return job.total ? (job.enqueued + job.skipped) / job.total : job.finishedAt ? 1 : 0;
}

/** The selection of a job, in words. @param {{job: any}} props */
export function Selection({ job }) {
  const parts = [
    job.kind && job.kind !== "REPLAY" && words(job.kind),
    job.mode === "MISSING" && t("events without a delivery"),
    job.deliveryIds && tn("{n} picked delivery", "{n} picked deliveries", job.deliveryIds.length),
    job.eventTypes?.join(", "),
    job.statuses?.map((/** @type {string} */ each) => words(each)).join(", "),
    job.dryRun && t("count only"),
  ]
    .filter(Boolean)
    .join(" · ");
  return html`<span class="row">${job.destinationId && h(DestinationName, { id: job.destinationId, plain: true })}<span class="cut quiet" title=${parts}>${parts}</span></span>`;
}

/** @type {() => import("../ui/table.js").Column<any>[]} */
const columns = () => [
  { title: t("What"), on: "main", cell: (row) => h(Selection, { job: row }) },
  { title: t("State"), on: "side", width: "9rem", cell: (row) => h(State, { name: row.status }) },
  {
    title: t("Progress"),
    on: "sub",
    width: "11rem",
    cell: (row) =>
      html`<span class="meter" title=${percent(done(row))}><i style=${{ inlineSize: `${done(row) * 100}%` }} /></span>`,
  },
  { title: t("Total"), number: true, width: "6rem", cell: (row) => number(row.total) },
  { title: t("Delivered"), number: true, width: "6rem", cell: (row) => number(row.delivered) },
  {
    title: t("Failed"),
    number: true,
    width: "6rem",
    cell: (row) =>
      row.failed ? html`<span class="bad">${number(row.failed)}</span>` : html`<span class="quiet">0</span>`,
  },
  {
    title: t("Created"),
    number: true,
    on: "end",
    width: "9rem",
    cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
  },
];

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/replay-jobs", given);
  useNames();
  useStream(
    api,
    "replays",
    {},
    {
      replays: ({ items }) =>
        found.set((old) => {
          const by = new Map(items.map((/** @type {any} */ each) => [each.id, each]));
          return { ...old, items: old.items.map((/** @type {any} */ row) => ({ ...row, ...by.get(row.id) })) };
        }),
    },
    found.reload,
  );
  const make = () => setQuery({ new: "1" });
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: whole ? t("No replay matches.") : t("No recovery matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: whole ? t("Nothing has been replayed yet.") : t("Nothing has been recovered yet.") },
        html`<p class="quiet">${t("A replay sends past events again, at its own rate. New events go first.")}</p>`,
        may("replay") && html`<button type="button" class="button primary" onClick=${make}>${newTitle()}</button>`,
      );
  return html`${h(Head, { title: listTitle(), live: true }, may("replay") && html`<button type="button" class="button primary" data-key="n" onClick=${make}>${newTitle()}</button>`)}
    ${h(Filters, { filters: filters() })}
    <section class="panel">${h(Table, { label: listTitle(), columns: columns(), list: found, empty, id: (row) => row.id, href: (row) => at(`/replays/${row.id}`), skeleton: 12 })}
      ${h(More, { list: found })}</section>
    ${
      query().new &&
      may("replay") &&
      h(Replaying, {
        close: () => {
          setQuery({ new: null });
          found.reload();
        },
      })
    }`;
}
