/** Deliveries in lists: the columns, and the changes of rows by the live stream. */
import { h, html } from "../../vendor/preact.js";
import { words } from "../format.js";
import { number, t, tn } from "../i18n.js";
import { Moment, now } from "../ui/moment.js";
import { State } from "../ui/state.js";
import { DestinationName } from "../names.js";
import { at } from "../api.js";

/** Return the state for readers, which distinguishes dead letters from discarded ones. @param {any} row */
export function stateOf(row) {
  if (row.status !== "FAILED") return row.status;
  return row.dlqStatus === "IN_DLQ" || row.dlqStatus === "DISCARDED" ? row.dlqStatus : row.status;
}

/** Return the text for FAILED that includes both of its states. */
export const gaveUp = () => t("Dead letter or discarded");

/** The last error. @param {{row: any}} props */
export function Problem({ row }) {
  if (!row.errorCategory) return row.skipped ? html`<span class="quiet">${t("Skipped by the script")}</span>` : null;
  return html`<span class=${row.status === "DELIVERED" ? "cut quiet" : "cut"}>${words(row.errorCategory)}${row.responseStatus ? ` · ${row.responseStatus}` : ""}</span>`;
}

/** The time of the next attempt. A due delivery waits for its destination. @param {{time: string}} props */
function Next({ time }) {
  return new Date(time).getTime() > now.value
    ? h(Moment, { at: time, relative: true })
    : html`<span class="quiet">${t("due")}</span>`;
}

/** True if a delivery was not made when its event arrived. Rows from the stream lack their origin. @param {any} row */
const beside = ({ originKind = "NORMAL" }) => originKind !== "NORMAL";

/**
 * @param {{destination?: boolean, type?: boolean, dead?: boolean}} [shown] which columns the page needs; `dead`: of dead letters
 * @returns {import("../ui/table.js").Column<any>[]}
 */
export function columns({ destination = true, type = true, dead = false } = {}) {
  return [
    ...(type
      ? [
          {
            title: t("Event type"),
            on: /** @type {const} */ ("main"),
            cell: (/** @type {any} */ row) => html`<span title=${row.eventType}>${row.eventType}</span>`,
          },
        ]
      : []),
    ...(destination
      ? [
          {
            title: t("Destination"),
            on: /** @type {"sub" | "main"} */ (type ? "sub" : "main"),
            cell: (/** @type {any} */ row) => h(DestinationName, { id: row.destinationId, plain: !type }),
          },
        ]
      : []),
    {
      title: t("State"),
      on: "side",
      width: type ? "9rem" : "7.5rem",
      cell: (row) =>
        html`${h(State, { name: stateOf(row) })}${type && destination && row.status !== "DELIVERED" && row.responseStatus && html`<span class="only-narrow"> · ${row.responseStatus}</span>`}`,
    },
    {
      title: t("Last error"),
      on: type && destination ? undefined : "sub",
      width: destination ? (type ? "10rem" : "7rem") : undefined,
      cell: (row) =>
        !type && !row.errorCategory && beside(row)
          ? html`<span class="quiet">${words(row.originKind)}</span>`
          : h(Problem, { row }),
    },
    { title: t("Attempts"), number: true, width: "5rem", cell: (row) => number(row.attemptCount) },
    ...(type
      ? [
          {
            title: t("Origin"),
            width: "7rem",
            cell: (/** @type {any} */ row) => beside(row) && html`<span class="quiet">${words(row.originKind)}</span>`,
          },
        ]
      : []),
    ...(dead
      ? []
      : [
          {
            title: t("Next attempt"),
            on: /** @type {"end" | undefined} */ (type ? undefined : "end"),
            number: true,
            width: type ? "8.5rem" : "9rem",
            cell: (/** @type {any} */ row) =>
              row.nextAttemptAt && ["PENDING", "RETRYING"].includes(row.status)
                ? h(Next, { time: row.nextAttemptAt })
                : type && html`<span class="quiet">–</span>`,
          },
        ]),
    ...(type
      ? [
          {
            title: t("Created"),
            on: /** @type {"end" | undefined} */ (dead ? undefined : "end"),
            number: true,
            width: "9rem",
            cell: (/** @type {any} */ row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
          },
        ]
      : []),
    ...(dead
      ? [
          {
            title: t("Dead since"),
            on: /** @type {const} */ ("end"),
            number: true,
            width: "9rem",
            cell: (/** @type {any} */ row) => h(Moment, { at: row.deadLetteredAt }),
          },
        ]
      : []),
  ];
}

/** @param {any} row */
export const link = (row) => at(`/deliveries/${row.id}`);

/** A button that shows new rows, so that no row moves under the pointer. @param {{count: number, show: () => void}} props */
export function Fresh({ count, show }) {
  if (!count) return null;
  return html`<button type="button" class="button fresh" onClick=${show}>${tn("{n} new: show it", "{n} new: show them", count)}</button>`;
}

/** Return when a delivery was made: its id begins with the milliseconds since 1970. @param {string} id */
const madeAt = (id) => new Date(parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString();

/**
 * Return the rows with the outcomes that the stream sent for them, and the sent deliveries that have no row. An outcome
 * does not say when the next attempt comes.
 * @param {any[]} rows @param {any[]} told
 */
export function merged(rows, told) {
  const by = new Map(
    told.map(({ attempt, ...each }) => [
      each.id,
      { ...each, createdAt: madeAt(each.id), nextAttemptAt: null, ...(attempt ? { attemptCount: attempt } : {}) },
    ]),
  );
  const known = rows.map((row) => {
    const news = by.get(row.id);
    if (!news) return row;
    by.delete(row.id);
    return { ...row, ...news };
  });
  return { rows: known, others: [...by.values()] };
}
