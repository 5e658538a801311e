/** The overview: is it fine now, what broke, where does it queue, what died, what changed. */
import { h, html, useEffect, useRef } from "../../vendor/preact.js";
import { compact, percent, rate } from "../../shared/format.js";
import { number, t, tn } from "../../shared/i18n.js";
import { lazily, useResource } from "../../shared/resource.js";
import { useStream } from "../../shared/stream.js";
import { Spark, State } from "../../shared/ui/state.js";
import { Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { api, at, environment } from "../session.js";

// Modules that the first view does without.
const Failure = lazily(() => import("../../shared/ui/failure.js").then((found) => found.Failure));
const Below = lazily(() => import("../parts/overview/below.js").then((found) => found.Below));
const FirstSteps = lazily(() => import("../parts/overview/first-steps.js").then((found) => found.FirstSteps));
const SHOWN = 8;
const SECONDS = 60;
// Between two looks at what the stream does not tell: the order, and what is retried or dead. A plan can allow as few
// as 120 requests a minute.
const RECOUNT_MS = 5000;

/** True where somebody should look at a destination. @param {any} health */
const ill = (health) => ["FAILING", "DEGRADED"].includes(health?.state);

/** @param {{items: any[] | null, more: boolean, counts: any}} props `more`: there are destinations beside these */
function Verdict({ items, more, counts }) {
  if (!items || !counts) return html`<p class="verdict quiet">${t("Looking…")}</p>`;
  const failing = items.filter((each) => each.health.state === "FAILING").length;
  const degraded = items.filter((each) => each.health.state === "DEGRADED").length;
  const all = more && failing === items.length; // then others can fail as well
  const fine = !failing && !degraded && !counts.inDlq;
  return html`<p class="verdict" role="status">
    ${fine && h(State, { name: "HEALTHY", word: t("All is well.") })}
    ${failing > 0 && h(State, { name: "FAILING", word: all ? t("{n} destinations fail, or more", { n: failing }) : tn("{n} destination fails", "{n} destinations fail", failing) })}
    ${degraded > 0 && h(State, { name: "DEGRADED", word: tn("{n} destination has trouble", "{n} destinations have trouble", degraded) })}
    ${counts.openCircuits > 0 && html`<span>${tn("{n} circuit is open", "{n} circuits are open", counts.openCircuits)}</span>`}
    ${counts.inDlq > 0 && html`<span>${tn("{n} dead letter waits for a decision", "{n} dead letters wait for a decision", counts.inDlq)}</span>`}
    ${counts.retrying > 0 && html`<span class="quiet">${tn("{n} delivery is being retried", "{n} deliveries are being retried", counts.retrying)}</span>`}
  </p>`;
}

/** @param {{name: string, value: string, unit?: string, href?: string}} props */
function Figure({ name, value, unit, href }) {
  const inside = html`<span class="name">${name}</span><span class="value">${value} ${unit && html`<span class="unit">${unit}</span>`}</span>`;
  return href ? html`<a class="figure" href=${href}>${inside}</a>` : html`<div class="figure">${inside}</div>`;
}

/** @type {() => import("../../shared/ui/table.js").Column<any>[]} */
const columns = () => [
  {
    title: t("Destination"),
    on: "main",
    cell: (row) => html`<span title=${row.destination.name}>${row.destination.name}</span>`,
  },
  { title: t("State"), on: "side", width: "7rem", cell: (row) => h(State, { name: row.health.state }) },
  {
    title: t("Waiting"),
    number: true,
    on: "end",
    named: true,
    width: "5rem",
    cell: (row) => number(row.health.queue.pending),
  },
  {
    title: t("24 hours"),
    width: "9rem",
    cell: (row) =>
      h(Spark, {
        points: row.series.map((/** @type {any} */ each) => ({ good: each.delivered, bad: each.failed })),
        label: t("{delivered} delivered, {failed} failed", row.totals),
      }),
  },
  { title: t("Success"), number: true, width: "5rem", cell: (row) => percent(row.health.successRate) },
  {
    title: t("Dead"),
    number: true,
    width: "4rem",
    cell: (row) =>
      row.inDlq
        ? html`<span class="tone-bad" style=${{ color: "var(--bad)" }}>${compact(row.inDlq)}${row.atLeast ? "+" : ""}</span>`
        : html`<span class="quiet">0</span>`,
  },
  {
    title: t("Last error"),
    on: "sub",
    cell: (row) =>
      html`<span class="cut quiet" title=${row.health.lastError ?? ""}>${row.health.state === "HEALTHY" || row.health.state === "IDLE" ? "" : (row.health.lastError ?? "")}</span>`,
  },
];

export function Page() {
  const throughput = useResource(
    (signal) => api.get("/observability/throughput", { environment: environment.value }, signal),
    [],
  );
  const summaries = useResource(
    (signal) => api.get("/destinations/summaries", { sort: "trouble", limit: SHOWN }, signal),
    [],
  );
  const counts = useResource((signal) => api.get("/observability/counts", {}, signal), []);
  const ready = throughput.data && summaries.data && counts.data;
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const reload = () => {
    throughput.reload();
    summaries.reload();
    counts.reload();
  };
  const recount = () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      summaries.reload();
      counts.reload();
    }, RECOUNT_MS);
  };
  const follow = (/** @type {any[]} */ told) => {
    const known = new Map((summaries.data?.items ?? []).map((/** @type {any} */ each) => [each.destination.id, each]));
    if (told.some((each) => ill(each) !== ill(known.get(each.destinationId)?.health))) recount();
    const by = new Map(told.map((each) => [each.destinationId, each]));
    summaries.set((old) => ({
      ...old,
      items: old.items.map((/** @type {any} */ each) => ({
        ...each,
        health: by.get(each.destination.id) ?? each.health,
      })),
    }));
  };
  useStream(
    api,
    "throughput,health,dlq",
    {},
    {
      throughput: (point) =>
        throughput.set((old) => ({ ...old, ...point, series: [...old.series, point].slice(-SECONDS) })),
      health: ({ items }) => follow(items),
      dlq: recount,
    },
    reload,
  );
  const flow = throughput.data;
  const series = flow?.series ?? [];
  const last = series.at(-1);
  const items = summaries.data?.items ?? null;
  return html`${h(Head, { title: t("Overview"), live: true })}
    ${h(Verdict, { items, more: !!summaries.data?.nextCursor, counts: counts.data })}
    ${throughput.error && h(Failure, { error: throughput.error, retry: throughput.reload })}
    <section class="figures" aria-label=${t("Now")}>
      ${h(Figure, { name: t("Accepted"), value: rate(last?.accepted), unit: t("a second") })}
      ${h(Figure, { name: t("Delivered"), value: rate(last?.delivered), unit: t("a second") })}
      ${h(Figure, { name: t("Failed attempts"), value: rate(last?.failed), unit: t("a second") })}
      ${h(Figure, { name: t("Waiting"), value: number(flow?.pending), href: at("/deliveries?status=PENDING") })}
      ${h(Figure, { name: t("In flight"), value: number(flow?.inFlight), href: at("/pulse") })}
      ${h(Figure, { name: t("Dead letters"), value: number(counts.data?.inDlq) + (counts.data?.atLeast ? "+" : ""), href: at("/dlq") })}
    </section>
    <section class="panel"><header><h2>${t("Destinations, worst first")}</h2><a href=${at("/destinations")}>${t("All destinations")}</a></header>
      ${h(Table, { label: t("Destinations"), columns: columns(), list: { ...summaries, items }, id: (row) => row.destination.id, href: (row) => at(`/destinations/${row.destination.id}`), empty: h(FirstSteps, {}) })}
    </section>
    ${ready && h(Below, { series })}`;
}
