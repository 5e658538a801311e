/** A destination now: its health, its queue, what holds it, and its deliveries as they end. */
import { h, html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { duration, percent, rate } from "../../../shared/format.js";
import { number, t } from "../../../shared/i18n.js";
import { paused } from "../../../shared/stream.js";
import { Empty, Skeleton } from "../../../shared/ui/empty.js";
import { Failure } from "../../../shared/ui/failure.js";
import { State } from "../../../shared/ui/state.js";
import { More } from "../../../shared/ui/more.js";
import { Table } from "../../../shared/ui/table.js";
import { act, Button } from "../../../shared/act.js";
import { api, at, writes } from "../../session.js";
import { Concurrency } from "../concurrency.js";
import { Course, Courses } from "../course.js";
import { columns, link } from "../../../shared/parts/deliveries.js";
import { Figure, Trouble, useNow } from "../../../shared/parts/destination/now.js";
import { Hold } from "../../../shared/parts/holds.js";

/** @param {{health: any}} props */
function Figures({ health }) {
  const { queue, latencyMs } = health;
  return html`<section class="figures" aria-label=${t("Now")}>
    ${h(Figure, { name: t("Waiting") }, number(queue.pending))}
    ${h(Figure, { name: t("In flight") }, html`${number(queue.inFlight)} <span class="unit">/ ${number(queue.effectiveConcurrency)}${queue.effectiveConcurrency !== queue.concurrency && html` (${health.circuit.state === "CLOSED" ? t("set: {n}", { n: number(queue.concurrency) }) : t("set: {n}, circuit open", { n: number(queue.concurrency) })})`}</span>`)}
    ${h(Figure, { name: t("Arrive, delivered") }, html`${rate(queue.arrivalsPerSecond)} <span class="unit">${rate(queue.deliveredPerSecond)} ${t("per second")}</span>`)}
    ${h(Figure, { name: t("Empty in") }, html`${duration(queue.drainSeconds && queue.drainSeconds * 1000)} ${queue.pending > 0 && queue.drainSeconds === null && html`<span class="unit">${t("does not shrink")}</span>`}`)}
    ${h(Figure, { name: t("Oldest waits") }, queue.oldestPendingSeconds === null ? "–" : duration(queue.oldestPendingSeconds * 1000))}
    ${h(Figure, { name: t("Success, 5 minutes") }, percent(health.successRate))}
    ${h(Figure, { name: t("Latency p50, p95") }, html`${duration(latencyMs.p50)} <span class="unit">${duration(latencyMs.p95)}</span>`)}
  </section>`;
}

/** @param {{destination: any, changed: (destination: any) => void}} props */
export function Live({ destination, changed }) {
  const { id } = destination;
  const { health, list } = useNow(id);
  const courses = useRef(new Courses());
  const [, draw] = useState(0);
  const shown = useRef(health.data);
  shown.current = health.data;
  useEffect(() => {
    const timer = setInterval(() => {
      if (paused.value || document.hidden || !shown.current) return;
      courses.current.add(id, shown.current);
      draw((n) => n + 1);
    }, 1000);
    return () => clearInterval(timer);
  }, [id]);
  if (!health.data)
    return health.error ? h(Failure, { error: health.error, retry: health.reload }) : h(Skeleton, { rows: 10 });
  const now = health.data;
  const resume = () =>
    act(() => api.post(`/destinations/${id}/resume`), t("It goes on.")).then((next) => {
      if (next) health.set(() => next);
    });
  const held = now.hold && ["RETRY_AFTER", "CIRCUIT"].includes(now.hold.reason);
  return html`<p class="verdict">${h(State, { name: now.state })}${h(Hold, { hold: now.hold })}
      ${held && writes.value && h(Button, { act: resume }, t("Go on now"))}</p>
    ${h(
      Trouble,
      { health: now },
      now.queue.pending > 0 &&
        html`<a href=${at(`/deliveries?destinationId=${id}`)}>${t("Stop its retries, or send them now")}</a>`,
      html`<a href=${at(`/dlq?destinationId=${id}`)}>${t("Its dead letters")}</a>`,
    )}
    ${h(Figures, { health: now })}
    <section class="panel"><header><h2>${t("The last two minutes")}</h2>
      <span class="legend"><span><i style=${{ "--tone": "var(--warn)" }} />${t("waiting")}</span><span><i style=${{ "--tone": "var(--accent)" }} />${t("in flight")}</span></span></header>
      <div class="inside halves">${h(Course, { points: courses.current.points[id] })}
        <div class="field"><span class="label">${t("Concurrency")}</span>${h(Concurrency, { destination, queue: now.queue, changed })}</div></div></section>
    <section class="panel"><header><h2>${t("Deliveries")}</h2><a href=${at(`/deliveries?destinationId=${id}`)}>${t("Filter them")}</a></header>
      ${h(Table, { label: t("Deliveries"), columns: columns({ destination: false }), list, id: (row) => row.id, href: link, skeleton: 8, empty: h(Empty, { title: t("Nothing was delivered here yet.") }, html`<p class="quiet">${t("Send a sample to try the address, or add a routing rule.")}</p>`) })}
      ${h(More, { list })}
    </section>`;
}
