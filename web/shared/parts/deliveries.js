/** Deliveries as lists show them: their columns, and how the live stream changes the rows. */
import { h, html } from "../../vendor/preact.js";
import { words } from "../format.js";
import { number, t, tn } from "../i18n.js";
import { Moment, now } from "../ui/moment.js";
import { State } from "../ui/state.js";
import { DestinationName } from "../names.js";
import { at } from "../api.js";

/** Return the state that a reader means: dead letters and discarded ones are told apart. @param {any} row */
export function stateOf(row) {
  if (row.status !== "FAILED") return row.status;
  return row.dlqStatus === "IN_DLQ" || row.dlqStatus === "DISCARDED" ? row.dlqStatus : row.status;
}

/** Return what FAILED is called where both of its states are meant. */
export const gaveUp = () => t("Dead letter, or discarded");

/** What went wrong last. @param {{row: any}} props */
export function Problem({ row }) {
  if (!row.errorCategory) return row.skipped ? html`<span class="quiet">${t("Skipped by the script")}</span>` : null;
  return html`<span class=${row.status === "DELIVERED" ? "cut quiet" : "cut"}>${words(row.errorCategory)}${row.responseStatus ? ` · ${row.responseStatus}` : ""}</span>`;
}

/** When a delivery is tried next. One that is due waits for its destination. @param {{time: string}} props */
function Next({ time }) {
  return new Date(time).getTime() > now.value
    ? h(Moment, { at: time, relative: true })
    : html`<span class="quiet">${t("due")}</span>`;
}

/**
 * @param {{destination?: boolean, type?: boolean}} [shown] which columns the page needs
 * @returns {import("../ui/table.js").Column<any>[]}
 */
export function columns({ destination = true, type = true } = {}) {
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
    { title: t("State"), on: "side", width: type ? "9rem" : "7.5rem", cell: (row) => h(State, { name: stateOf(row) }) },
    {
      title: t("Last error"),
      on: type && destination ? undefined : "sub",
      cell: (row) =>
        !type && !row.errorCategory && row.originKind !== "NORMAL"
          ? html`<span class="quiet">${words(row.originKind)}</span>`
          : h(Problem, { row }),
    },
    { title: t("Attempts"), number: true, width: "5rem", cell: (row) => number(row.attemptCount) },
    ...(type
      ? [
          {
            title: t("Origin"),
            width: "8rem",
            cell: (/** @type {any} */ row) =>
              row.originKind === "NORMAL" ? null : html`<span class="quiet">${words(row.originKind)}</span>`,
          },
        ]
      : []),
    {
      title: t("Next attempt"),
      number: true,
      width: type ? "8rem" : "6.5rem",
      cell: (row) =>
        row.nextAttemptAt && ["PENDING", "RETRYING"].includes(row.status)
          ? h(Next, { time: row.nextAttemptAt })
          : html`<span class="quiet">–</span>`,
    },
    {
      title: t("Created"),
      on: "end",
      number: true,
      width: type ? "9rem" : "7rem",
      cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
    },
  ];
}

/** @param {any} row */
export const link = (row) => at(`/deliveries/${row.id}`);

/** A button for rows that came since: nothing moves under the pointer. @param {{count: number, show: () => void}} props */
export function Fresh({ count, show }) {
  if (!count) return null;
  return html`<button type="button" class="button fresh" onClick=${show}>${tn("{n} new: show it", "{n} new: show them", count)}</button>`;
}

/**
 * Return rows with what the stream told of them, and how many others it told of.
 * @param {any[]} rows @param {any[]} told
 */
export function merged(rows, told) {
  const by = new Map(told.map((each) => [each.id, each]));
  const known = rows.map((row) => {
    const news = by.get(row.id);
    if (!news) return row;
    by.delete(row.id);
    return { ...row, ...news };
  });
  return { rows: known, others: [...by.values()] };
}
