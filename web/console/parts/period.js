/** The counters of a period: its choice, figures, charts and causes of failures. For a destination and for all of them. */
import { h, html } from "../../vendor/preact.js";
import { clock, duration, percent, words } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { useResource } from "../../shared/resource.js";
import { query, setQuery } from "../../shared/router.js";
import { Chart } from "../../shared/ui/chart.js";
import { Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { api, at } from "../session.js";

const PERIODS = ["1h", "6h", "24h", "7d", "30d"];

/** Failed attempts by cause; each leads to the deliveries whose last error it is. @param {{counts: Record<string, number>, given: Record<string, string>}} props `given`: filters of their list */
function Causes({ counts, given }) {
  const causes = Object.entries(counts).sort(([, one], [, two]) => two - one);
  const list = (/** @type {string} */ errorCategory) =>
    at(`/deliveries?${new URLSearchParams({ ...given, errorCategory })}`);
  return html`<section class="panel"><header><h2>${t("Causes of failures")}</h2></header>
    ${
      causes.length
        ? html`<table class="table plain"><thead class="unseen"><tr><th scope="col">${t("Last error")}</th><th scope="col">${t("Failed attempts")}</th></tr></thead>
        <tbody>${causes.map(([name, count]) => html`<tr key=${name}><td><a class="opener" href=${list(name)}>${words(name)}</a></td><td class="number">${number(count)}</td></tr>`)}</tbody></table>`
        : html`<p class="inside quiet">${t("No attempt failed.")}</p>`
    }</section>`;
}

/**
 * @param {{path: string, asked?: Record<string, string | undefined>, given: Record<string, string>, beside?: (found: any) => any}} props
 *   `path` and `asked`: the request for the counters; `given`: filters of the same deliveries; `beside`: shows more of the answer
 */
export function Period({ path, asked = {}, given, beside }) {
  const { period = "24h" } = query();
  const found = useResource(
    (signal) => api.get(path, { period, ...asked }, signal),
    [path, period, JSON.stringify(asked)],
    true,
  );
  const choice = html`<div class="row wrap" role="group" aria-label=${t("Period")}>${PERIODS.map((each) => html`<button type="button" class="button" aria-pressed=${each === period} onClick=${() => setQuery({ period: each })}>${each}</button>`)}
    <button type="button" class="button bare" onClick=${found.reload}>${t("Load again")}</button>${found.at && html`<span class="quiet">${t("As of {time}", { time: clock(found.at) })}</span>`}</div>`;
  if (!found.data)
    return html`${choice}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 10 })}`;
  const { totals, series, errorCategories } = found.data;
  const of = (/** @type {string} */ name) => series.map((/** @type {any} */ each) => each[name]);
  const latency = (/** @type {string} */ name) => series.map((/** @type {any} */ each) => each.latencyMs[name]);
  const plot = { times: of("at"), days: ["7d", "30d"].includes(found.data.period), seconds: false };
  const figure = (/** @type {string} */ name, /** @type {any} */ value) =>
    html`<div class="figure"><span class="name">${name}</span><span class="value">${value}</span></div>`;
  return html`${choice}${found.error && h(Failure, { error: found.error, retry: found.reload })}
    <section class="figures" aria-label=${t("Totals")} aria-busy=${found.stale ? "true" : null}>${figure(t("Attempts"), number(totals.attempts))}${figure(t("Delivered"), number(totals.delivered))}
      ${figure(t("Failed attempts"), number(totals.failed))}${figure(t("Dead letters"), number(totals.deadLettered))}
      ${figure(t("Success"), percent(totals.attempts ? 1 - totals.failed / totals.attempts : null))}${figure(t("Latency p95"), duration(totals.latencyMs.p95))}</section>
    <div class="two">
      <div class="stack">
        <section class="panel"><header><h2>${t("Deliveries and failures")}</h2></header><div class="inside">${h(Chart, {
          ...plot,
          unit: t("count"),
          series: [
            { name: t("Delivered"), tone: "accent", values: of("delivered") },
            { name: t("Failed attempts"), tone: "bad", dashed: true, values: of("failed") },
          ],
        })}</div></section>
        <section class="panel"><header><h2>${t("Latency")}</h2></header><div class="inside">${h(Chart, {
          ...plot,
          unit: "ms",
          series: [
            { name: "p50", tone: "info", values: latency("p50") },
            { name: "p95", tone: "accent", dashed: true, values: latency("p95") },
          ],
        })}</div></section>
      </div>
      <div class="stack">${beside?.(found.data)}${h(Causes, { counts: errorCategories, given })}</div>
    </div>`;
}
