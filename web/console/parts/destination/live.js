/** The current state of a destination: its health, its queue, its holds, and its latest deliveries. */
import { h, html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { duration, percent, rate } from "../../../shared/format.js";
import { number, t, tn } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { paused } from "../../../shared/stream.js";
import { Failure } from "../../../shared/ui/failure.js";
import { State } from "../../../shared/ui/state.js";
import { More } from "../../../shared/ui/more.js";
import { Empty, Skeleton, Table } from "../../../shared/ui/table.js";
import { act, Button } from "../../../shared/act.js";
import { api, at, writes } from "../../session.js";
import { Concurrency } from "../concurrency.js";
import { Course, Courses } from "../course.js";
import { columns, Fresh, link } from "../../../shared/parts/deliveries.js";
import { Figure, Trouble, useNow } from "../../../shared/parts/destination/now.js";
import { Hold } from "../../../shared/parts/holds.js";
import { late } from "../../../shared/ui/state.js";

/** @param {{health: any}} props */
function Figures({ health }) {
  const { queue, latencyMs } = health;
  return html`<section class="figures" aria-label=${t("Now")}>
    ${h(Figure, { name: t("Waiting") }, number(queue.pending))}
    ${h(Figure, { name: t("In flight") }, html`${number(queue.inFlight)} <span class="unit">/ ${number(queue.effectiveConcurrency)}${queue.effectiveConcurrency !== queue.concurrency && html` (${health.circuit.state === "CLOSED" ? t("set: {n}", { n: number(queue.concurrency) }) : t("{n} once the circuit closes", { n: number(queue.concurrency) })})`}</span>`)}
    ${h(Figure, { name: t("In / out per second") }, html`${rate(queue.arrivalsPerSecond)} <span class="unit">/ ${rate(queue.deliveredPerSecond)}</span>`)}
    ${h(Figure, { name: t("Queue empty in") }, html`${queue.drainSeconds !== null && duration(queue.drainSeconds * 1000)} ${queue.pending === 0 && queue.drainSeconds === null && "–"}${queue.pending > 0 && queue.drainSeconds === null && html`<span class="unit">${t("never: it does not shrink")}</span>`}`)}
    ${h(Figure, { name: t("Longest wait") }, queue.oldestPendingSeconds === null ? "–" : duration(queue.oldestPendingSeconds * 1000))}
    ${h(Figure, { name: t("Success, 5 minutes") }, percent(health.successRate))}
    ${h(Figure, { name: t("Latency p50, p95") }, html`${duration(latencyMs.p50)} <span class="unit">p95 ${duration(latencyMs.p95)}</span>`)}
  </section>`;
}

/** The notice that a destination is late although its deliveries succeed, with the possible actions. @param {{destination: any, health: any, changed: (destination: any) => void}} props */
function Lateness({ destination, health: { queue, ...rest }, changed }) {
  if (!late({ queue, ...rest })) return null;
  const { ordering, rateLimitPerSecond } = destination.delivery;
  const more =
    ordering === "NONE" && (queue.suggestedConcurrency ?? 0) > queue.concurrency ? queue.suggestedConcurrency : null;
  const raise = () =>
    act(
      () => api.patch(`/destinations/${destination.id}`, { delivery: { concurrency: more } }),
      t("{name}: concurrency {value}", { name: destination.name, value: more }),
    ).then((next) => {
      if (next) changed(next);
    });
  return html`<div class="notice tone-warn"><p><strong>${t("This destination is late: its oldest delivery has waited {time}.", { time: duration(queue.oldestPendingSeconds * 1000) })}</strong></p>
    <p class="row wrap"><span>${t("{in} arrive and {out} are delivered per second.", { in: rate(queue.arrivalsPerSecond), out: rate(queue.deliveredPerSecond) })}</span>
      ${rateLimitPerSecond !== null && html`<a href=${at(`/destinations/${destination.id}/settings`)}>${t("Its rate limit is {n} per second", { n: number(rateLimitPerSecond) })}</a>`}
      ${ordering !== "NONE" && html`<a href=${at(`/destinations/${destination.id}/lanes`)}>${t("See which lanes wait")}</a>`}
      ${more !== null && writes.value && h(Button, { act: raise }, t("Raise the concurrency to {n}", { n: more }))}</p></div>`;
}

/** The lanes of an ordered destination that wait for their head's next attempt. @param {{id: string}} props */
function Blocked({ id }) {
  const found = useResource((signal) => api.get(`/destinations/${id}/lanes`, {}, signal), [id]);
  const blocked = (found.data?.items ?? []).filter((/** @type {any} */ lane) => lane.until && lane.depth > 1);
  if (!blocked.length) return null;
  const behind = blocked.reduce((/** @type {number} */ sum, /** @type {any} */ lane) => sum + lane.depth - 1, 0);
  return html`<div class="notice tone-warn"><p><strong>${tn("{n} delivery waits for another of its lane.", "{n} deliveries wait for another of their lane.", behind)}</strong></p>
    <p class="row wrap"><span>${tn("{n} lane is blocked: its first delivery failed, and the next attempt is later.", "{n} lanes are blocked: their first deliveries failed, and the next attempts are later.", blocked.length)}</span><a href=${at(`/destinations/${id}/lanes`)}>${t("See which lanes wait")}</a></p></div>`;
}

/** @param {{destination: any, changed: (destination: any) => void}} props */
export function Live({ destination, changed }) {
  const { id } = destination;
  const { health, list, fresh, show } = useNow(id);
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
    act(() => api.post(`/destinations/${id}/resume`), t("Sending resumes.")).then((next) => {
      if (next) health.set(() => next);
    });
  const held = now.hold && ["RETRY_AFTER", "CIRCUIT"].includes(now.hold.reason);
  return html`<p class="verdict">${h(State, { name: now.state })}${h(Hold, { hold: now.state === "DISABLED" ? null : now.hold })}
      ${held && writes.value && h(Button, { act: resume }, t("Stop waiting, send now"))}</p>
    ${h(
      Trouble,
      { health: now },
      now.queue.pending > 0 &&
        html`<a href=${at(`/deliveries?destinationId=${id}`)}>${t("See its deliveries: cancel or retry them there")}</a>`,
      html`<a href=${at(`/deliveries?destinationId=${id}&status=RETRYING,FAILED`)}>${t("Its last failures, with the answers")}</a>`,
      html`<a href=${at(`/dlq?destinationId=${id}`)}>${t("Its dead letters")}</a>`,
    )}
    ${destination.delivery.ordering !== "NONE" && now.queue.pending > 0 && h(Blocked, { id })}
    ${h(Lateness, { destination, health: now, changed })}
    ${h(Figures, { health: now })}
    <section class="panel"><header><h2>${t("The last two minutes")}</h2>
      <span class="legend"><span><i style=${{ "--tone": "var(--warn)" }} />${t("waiting")}</span><span><i style=${{ "--tone": "var(--accent)" }} />${t("in flight")}</span></span></header>
      <div class="inside halves">${h(Course, { points: courses.current.points[id] })}
        <div class="field"><span class="label legend"><span>${t("Concurrency")}</span>${now.queue.suggestedConcurrency !== null && html`<span class="quiet"><i class="advice" />${t("suggested")}</span>`}</span>${h(Concurrency, { destination, queue: now.queue, changed })}</div></div></section>
    <section class="panel"><header><h2>${t("Deliveries")}</h2>${h(Fresh, { count: fresh, show })}<a href=${at(`/deliveries?destinationId=${id}`)}>${t("Filter them")}</a></header>
      ${h(Table, { label: t("Deliveries"), columns: columns({ destination: false }), list, id: (row) => row.id, href: link, skeleton: 8, empty: h(Empty, { title: t("Nothing has been delivered here yet.") }, html`<p class="quiet">${t("Send a sample to try the address, or add a routing rule.")}</p>`) })}
      ${h(More, { list })}
    </section>`;
}
