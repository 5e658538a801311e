/** Pulse: each destination with its queue, its attempts in flight, and a slider for its concurrency. */
import { h, html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { duration, percent, rate, span } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { paused, useStream, withHealth } from "../../shared/stream.js";
import { Empty, Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { asked, query, setQuery } from "../../shared/router.js";
import { Field } from "../../shared/ui/field.js";
import { Filters } from "../../shared/ui/filters.js";
import { Scripted, State } from "../../shared/ui/state.js";
import { More } from "../../shared/ui/more.js";
import { Head } from "../../shared/head.js";
import { Concurrency } from "../parts/concurrency.js";
import { Course, Courses } from "../parts/course.js";
import { Hold, Late, Since } from "../../shared/parts/holds.js";
import { api, at } from "../session.js";

const filters = () => [
  { name: "name", label: t("Name"), placeholder: t("Part of a name") },
  { name: "state", label: t("State"), options: ["FAILING", "DEGRADED", "HEALTHY", "IDLE", "DISABLED"] },
];

/** @param {{row: any, points: any, changed: (destination: any) => void, seen: (health: any) => void}} props */
function Beat({ row, points, changed, seen }) {
  const { destination, health } = row;
  const { queue } = health;
  return html`<li class="pulse">
    <span class="line"><a class="opener cut" data-row=${destination.id} href=${at(`/destinations/${destination.id}`)} title=${destination.name}>${destination.name}${h(Scripted, { version: destination.transformVersion })}</a>
      <span class="row wrap"><span>${h(State, { name: health.state })}${h(Since, { health })}</span>${h(Late, { health })}${h(Hold, { hold: health.hold?.reason === "DISABLED" ? null : health.hold })}</span></span>
    <span class="number figure-pair"><b>${number(queue.pending)}</b> <span class="quiet">${t("wait")}</span><br />
      <b>${number(queue.inFlight)}</b> <span class="quiet">${t("of {n}", { n: queue.effectiveConcurrency })}</span>
      ${queue.oldestPendingSeconds >= 1 && html`<br /><span class="quiet">${t("oldest {time}", { time: span(queue.oldestPendingSeconds) })}</span>`}</span>
    <span class="number only-wide"><b>${rate(queue.arrivalsPerSecond)}</b> <span class="quiet">/</span> <b>${rate(queue.deliveredPerSecond)}</b><br />
      <span class="quiet">${queue.drainSeconds !== null ? t("empty in {time}", { time: duration(queue.drainSeconds * 1000) }) : queue.pending > 0 && t("does not shrink")}</span></span>
    <span class="wide">${h(Course, { points })}</span>
    <span class="wide">${h(Concurrency, { destination, queue, changed, seen })}</span>
    <span class="number only-wide">${duration(health.latencyMs.p95)}</span>
    <span class="number only-wide">${percent(health.successRate)}</span>
  </li>`;
}

export function Page() {
  const given = asked(filters());
  const { sort = "pending" } = query();
  const found = usePages(api, "/destinations/summaries", { sort, ...given });
  const courses = useRef(new Courses());
  const [, draw] = useState(0);
  const items = found.items;
  const shown = useRef(items);
  shown.current = items;
  const change = (/** @type {(row: any) => any} */ how) => found.set((old) => ({ ...old, items: old.items.map(how) }));
  useStream(
    api,
    "health",
    {},
    {
      health: (told) => found.set((old) => ({ ...old, items: withHealth(old.items, told.items) })),
    },
    found.reload,
  );
  useEffect(() => {
    const step = () => {
      if (paused.value || document.hidden) return;
      for (const row of shown.current ?? []) courses.current.add(row.destination.id, row.health);
      draw((n) => n + 1);
    };
    const timer = setInterval(step, 1000);
    return () => clearInterval(timer);
  }, []);
  const seen = (/** @type {any} */ health) =>
    change((row) => (row.destination.id === health.destinationId ? { ...row, health } : row));
  const changed = (/** @type {any} */ destination) =>
    change((row) =>
      row.destination.id === destination.id
        ? {
            ...row,
            destination,
            health: {
              ...row.health,
              queue: {
                ...row.health.queue,
                concurrency:
                  destination.delivery.concurrency === "auto"
                    ? row.health.queue.concurrency
                    : destination.delivery.concurrency,
              },
            },
          }
        : row,
    );
  return html`${h(Head, { title: t("Pulse"), live: true })}
    <p class="quiet">${t("Move a slider: the new concurrency applies at once, and both curves show its effect.")}</p>
    ${h(
      Filters,
      { filters: filters() },
      h(Field, {
        label: t("Order"),
        value: sort,
        change: (value) => setQuery({ sort: value === "pending" ? null : value }),
        options: [
          ["pending", t("Longest queue first")],
          ["age", t("Longest wait first")],
          ["trouble", t("Worst first")],
        ],
      }),
    )}
    <datalist id="steps">${Array.from({ length: 16 }, (_, index) => html`<option value=${index} />`)}</datalist>
    <section class="panel" aria-label=${t("Destinations")} aria-busy=${found.stale ? "true" : null}>
      ${found.error && h(Failure, { error: found.error, retry: found.reload })}
      ${
        !items
          ? !found.error && h(Skeleton, { rows: 12 })
          : !items.length
            ? h(Empty, { title: t("No destination matches.") })
            : html`<div class="pulse head" aria-hidden="true"><span>${t("Destination")}</span><span class="number">${t("Queue, in flight")}</span><span class="number">${t("In / out per second")}</span>
            <span class="legend"><span><i style=${{ "--tone": "var(--warn)" }} />${t("waiting")}</span><span><i style=${{ "--tone": "var(--accent)" }} />${t("in flight")}</span></span>
            <span class="legend"><span>${t("Concurrency")}</span><span><i class="advice" />${t("suggested")}</span></span><span class="number">p95</span><span class="number">${t("Success")}</span></div>
          <ul>${items.map((/** @type {any} */ row) => h(Beat, { key: row.destination.id, row, points: courses.current.points[row.destination.id], changed, seen }))}</ul>
          ${h(More, { list: found })}`
      }
    </section>`;
}
