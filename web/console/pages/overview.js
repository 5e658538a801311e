/** The overview: the current state, failures, queues, dead letters, and the last changes. */
import { h, html, useEffect, useMemo, useRef } from "../../vendor/preact.js";
import { rate } from "../../shared/format.js";
import { locale, number, t, tn } from "../../shared/i18n.js";
import { lazily, useResource } from "../../shared/resource.js";
import { useStream, withHealth } from "../../shared/stream.js";
import { late, State } from "../../shared/ui/state.js";
import { Table } from "../../shared/ui/table.js";
import { columns } from "../../shared/pages/destinations.js";
import { Head } from "../../shared/head.js";
import { api, at, environment } from "../session.js";

// Modules that the first view does not need.
const Failure = lazily(() => import("../../shared/ui/failure.js").then((found) => found.Failure));
const Below = lazily(() => import("../parts/overview/below.js").then((found) => found.Below));
const FirstSteps = lazily(() => import("../parts/overview/first-steps.js").then((found) => found.FirstSteps));
const SHOWN = 8;
const SECONDS = 60;
// Between two loads of values that the stream lacks: the order, and the retried and dead deliveries. A plan can allow
// as few as 120 requests a minute.
const RECOUNT_MS = 5000;

/** True if a destination needs attention. @param {any} health */
const ill = (health) => ["FAILING", "DEGRADED"].includes(health?.state) || stuck(health);
/** True if a destination is switched off although deliveries wait for it. @param {any} health */
const stuck = (health) => health?.state === "DISABLED" && health.queue.pending > 0;

/** @param {{items: any[] | null, more: boolean, counts: any}} props `more`: there are further destinations */
function Verdict({ items, more, counts }) {
  if (!items || !counts) return html`<p class="verdict quiet">${t("Checking…")}</p>`;
  const failing = items.filter((each) => each.health.state === "FAILING").length;
  const degraded = items.filter((each) => each.health.state === "DEGRADED").length;
  const off = items.filter(({ health }) => stuck(health)).length;
  const slow = items.filter(({ health }) => health.state === "HEALTHY" && late(health));
  const to = (/** @type {string} */ path, /** @type {any} */ text) => html`<a href=${at(path)}>${text}</a>`;
  const all = more && failing + off === items.length; // then destinations that are not loaded can fail too
  const fine = !failing && !degraded && !off && !slow.length && !counts.inDlq;
  return html`<p class="verdict" role="status">
    ${fine && h(State, { name: "HEALTHY", word: t("All is well.") })}
    ${failing > 0 && to("/destinations?state=FAILING", h(State, { name: "FAILING", word: all ? t("At least {n} destinations fail", { n: failing }) : tn("{n} destination fails", "{n} destinations fail", failing) }))}
    ${off > 0 && to("/destinations?state=DISABLED", h(State, { name: "DISABLED", word: tn("{n} destination is switched off and has deliveries waiting", "{n} destinations are switched off and have deliveries waiting", off) }))}
    ${degraded > 0 && to("/destinations?state=DEGRADED", h(State, { name: "DEGRADED", word: tn("{n} destination is degraded", "{n} destinations are degraded", degraded) }))}
    ${slow.length > 0 && to(slow.length > 1 ? "/pulse?sort=age" : `/destinations/${slow[0].destination.id}`, h(State, { name: "DEGRADED", word: tn("{n} destination is late", "{n} destinations are late", slow.length) }))}
    ${counts.openCircuits > 0 && to("/pulse?state=FAILING", tn("{n} circuit is open", "{n} circuits are open", counts.openCircuits))}
    ${counts.inDlq > 0 && to("/dlq", tn("{n} dead letter waits for a decision", "{n} dead letters wait for a decision", counts.inDlq))}
    ${counts.retrying > 0 && html`<span class="quiet">${to("/deliveries?status=RETRYING", tn("{n} delivery is being retried", "{n} deliveries are being retried", counts.retrying))}</span>`}
  </p>`;
}

/** @param {{name: string, value: string, unit?: string, href?: string}} props */
function Figure({ name, value, unit, href }) {
  const inside = html`<span class="name">${name}</span><span class="value">${value} ${unit && html`<span class="unit">${unit}</span>`}</span>`;
  return href ? html`<a class="figure" href=${href}>${inside}</a>` : html`<div class="figure">${inside}</div>`;
}

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
  const ready = Boolean(throughput.data && summaries.data && counts.data);
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
    summaries.set((old) => ({ ...old, items: withHealth(old.items, told) }));
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
  const mean = (/** @type {string} */ name) =>
    rate(
      series.length
        ? series.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each[name], 0) / series.length
        : null,
    );
  const items = summaries.data?.items ?? null;
  return html`${h(Head, { title: t("Overview"), live: true })}
    ${h(Verdict, { items, more: !!summaries.data?.nextCursor, counts: counts.data })}
    ${throughput.error && h(Failure, { error: throughput.error, retry: throughput.reload })}
    <section class="figures" aria-label=${t("The last minute, and now")}>
      ${h(Figure, { name: t("Accepted"), value: mean("accepted"), unit: t("events a second") })}
      ${h(Figure, { name: t("Delivered"), value: mean("delivered"), unit: t("deliveries a second") })}
      ${h(Figure, { name: t("Failed attempts"), value: mean("failed"), unit: t("a second") })}
      ${h(Figure, { name: t("Waiting"), value: number(flow?.pending), href: at("/deliveries?status=PENDING,RETRYING") })}
      ${h(Figure, { name: t("In flight"), value: number(flow?.inFlight), href: at("/pulse") })}
      ${h(Figure, { name: t("Dead letters"), value: number(counts.data?.inDlq) + (counts.data?.atLeast ? "+" : ""), href: at("/dlq") })}
    </section>
    <section class="panel"><header><h2>${t("Destinations, worst first")}</h2><a href=${at("/destinations")}>${t("All destinations")}</a></header>
      ${h(Table, { label: t("Destinations"), columns: useMemo(() => columns(ready), [locale.value, ready]), list: { ...summaries, items }, id: (row) => row.destination.id, href: (row) => at(`/destinations/${row.destination.id}`), empty: h(FirstSteps, {}) })}
    </section>
    ${ready && h(Below, { series })}`;
}
