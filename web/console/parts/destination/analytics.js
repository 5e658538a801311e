/** What a destination did over an hour to a month, from the counters of its delivery log. */
import { h, html } from "../../../vendor/preact.js";
import { duration, percent, words } from "../../../shared/format.js";
import { number, t } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { query, setQuery } from "../../../shared/router.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Skeleton } from "../../../shared/ui/empty.js";
import { Failure } from "../../../shared/ui/failure.js";
import { api } from "../../session.js";

const PERIODS = ["1h", "6h", "24h", "7d", "30d"];

/** @param {{destination: any}} props */
export function Analytics({ destination }) {
  const { period = "24h" } = query();
  const found = useResource(
    (signal) => api.get(`/destinations/${destination.id}/analytics`, { period }, signal),
    [destination.id, period],
  );
  const choice = html`<div class="row" role="group" aria-label=${t("Period")}>${PERIODS.map((each) => html`<button type="button" class="button" aria-pressed=${each === period} onClick=${() => setQuery({ period: each })}>${each}</button>`)}</div>`;
  if (!found.data)
    return html`${choice}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 10 })}`;
  const { totals, series, errorCategories } = found.data;
  const of = (/** @type {string} */ name) => series.map((/** @type {any} */ each) => each[name]);
  const times = of("at");
  const days = ["7d", "30d"].includes(period);
  const figure = (/** @type {string} */ name, /** @type {any} */ value) =>
    html`<div class="figure"><span class="name">${name}</span><span class="value">${value}</span></div>`;
  const causes = Object.entries(errorCategories).sort(([, one], [, two]) => Number(two) - Number(one));
  return html`${choice}
    <section class="figures">${figure(t("Attempts"), number(totals.attempts))}${figure(t("Delivered"), number(totals.delivered))}
      ${figure(t("Failed attempts"), number(totals.failed))}${figure(t("Dead letters"), number(totals.deadLettered))}
      ${figure(t("Success"), percent(totals.attempts ? 1 - totals.failed / totals.attempts : null))}${figure(t("Latency p95"), duration(totals.latencyMs.p95))}</section>
    <div class="two">
      <section class="panel"><header><h2>${t("Deliveries and failures")}</h2></header><div class="inside">${h(Chart, {
        times,
        days,
        seconds: false,
        unit: t("count"),
        series: [
          { name: t("Delivered"), tone: "accent", values: of("delivered") },
          { name: t("Failed attempts"), tone: "bad", dashed: true, values: of("failed") },
        ],
      })}</div></section>
      <section class="panel"><header><h2>${t("Causes of failures")}</h2></header>
        ${causes.length ? html`<table class="table plain"><tbody>${causes.map(([name, count]) => html`<tr><td>${words(name)}</td><td class="number">${number(Number(count))}</td></tr>`)}</tbody></table>` : html`<p class="inside quiet">${t("No attempt failed.")}</p>`}</section>
    </div>
    <div class="two"><section class="panel"><header><h2>${t("Latency")}</h2></header><div class="inside">${h(Chart, {
      times,
      days,
      seconds: false,
      unit: "ms",
      series: [
        { name: "p50", tone: "info", values: series.map((/** @type {any} */ each) => each.latencyMs.p50) },
        {
          name: "p95",
          tone: "accent",
          dashed: true,
          values: series.map((/** @type {any} */ each) => each.latencyMs.p95),
        },
      ],
    })}</div></section></div>`;
}
