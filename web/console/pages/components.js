/** The design system: each component in each of its states, for developers of the pages. */
import { h, html, useState } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { ApiError } from "../../shared/api.js";
import { Chart } from "../../shared/ui/chart.js";
import { Difference } from "../../shared/ui/difference.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Shell } from "../../shared/ui/command.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Ident } from "../../shared/ui/ident.js";
import { Moment, Until } from "../../shared/ui/moment.js";
import { Payload } from "../../shared/ui/payload.js";
import { Spark, State } from "../../shared/ui/state.js";
import { More } from "../../shared/ui/more.js";
import { Empty, Skeleton, Table } from "../../shared/ui/table.js";
import { say } from "../../shared/ui/toasts.js";
import { Head } from "../../shared/head.js";
import { Hold } from "../../shared/parts/holds.js";

const STATES = [
  "HEALTHY",
  "DEGRADED",
  "FAILING",
  "IDLE",
  "DISABLED",
  "PENDING",
  "DELIVERING",
  "RETRYING",
  "DELIVERED",
  "FAILED",
  "IN_DLQ",
  "DISCARDED",
  "DRY_RUN",
  "RUNNING",
  "PAUSED",
  "COMPLETED",
];
const JSON_TEXT =
  '{"total": 123456789012345678901234567890, "total": 2, "note": "<b>text</b>", "paid": true, "lines": [], "none": null}';
const STATUSES = [0, 402, 403, 404, 429, 500];

/** @param {{title: string, children?: any}} props */
function Shelf({ title, children }) {
  return html`<section class="panel"><header><h2>${title}</h2></header><div class="inside stack">${children}</div></section>`;
}

/** @param {number} status */
const problem = (status) =>
  new ApiError(
    status,
    {
      message:
        status === 402
          ? "The plan free has at most 20 destinations."
          : status === 403
            ? "This needs the scope manage."
            : "",
      requestId: "4e7e93ecc9-67",
      details: status === 500 ? [{ path: "url", message: "is not an address" }] : [],
    },
    status === 429 ? 20 : null,
  );

export function Page() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at] = useState(() => Date.now());
  const times = Array.from({ length: 30 }, (_, index) => new Date(at - (30 - index) * 60e3).toISOString());
  const wave = (/** @type {number} */ size) => times.map((_, index) => Math.round(size * (1 + Math.sin(index / 4))));
  const rows = [
    { id: "1", name: "Billing", state: "HEALTHY", n: 12 },
    { id: "2", name: "Warehouse ".repeat(20), state: "FAILING", n: 48123 },
  ];
  return html`${h(Head, { title: t("Components") })}<div class="halves">
    ${h(
      Shelf,
      { title: t("State") },
      html`<div class="row wrap">${STATES.map((name) => h(State, { key: name, name }))}</div>
      <div class="row wrap">${["RETRY_AFTER", "CIRCUIT", "RATE", "DISABLED", "STORE"].map((reason) => h(Hold, { key: reason, hold: { reason, until: reason === "CIRCUIT" ? new Date(at + 40e3).toISOString() : null } }))}</div>`,
    )}
    ${h(
      Shelf,
      { title: t("Buttons") },
      html`<div class="row wrap"><button type="button" class="button primary">${t("Save")}</button><button type="button" class="button">${t("Cancel")}</button>
      <button type="button" class="button danger">${t("Delete")}</button><button type="button" class="button" disabled>${t("Save")}</button><button type="button" class="button bare">${t("Freeze page")}</button><button type="button" class="button" aria-pressed="true">24h</button>
      <button type="button" class="button" onClick=${() => say(t("Saved."), { action: { label: t("Undo") } })}>${t("Tell it")}</button><button type="button" class="button" onClick=${() => setOpen(true)}>${t("Ask it")}</button></div>`,
    )}
    ${h(
      Shelf,
      { title: t("Fields") },
      html`<div class="pair-row">${h(Field, { label: t("Name"), value: text, change: setText, hint: t("Empty: all.") })}${h(Field, { label: t("Address"), value: "ftp://", change: setText, wrong: "must be http or https" })}
      ${h(Field, {
        label: t("State"),
        value: "",
        change: setText,
        options: [
          ["", t("Any")],
          ["ON", t("On")],
        ],
      })}${h(Field, { label: t("Number"), kind: "number", value: 8, change: setText })}</div>${h(Field, { label: t("Payload"), value: JSON_TEXT, change: setText, area: true })}`,
    )}
    ${h(
      Shelf,
      { title: t("Ids and times") },
      html`<p>${h(Ident, { id: "01a20d2f-2c40-7000-b999-9ec428575226" })}</p><p>${h(Ident, { id: "01a20d2f-2c40-7000-b999-9ec428575226", whole: true })}</p>
      <p>${h(Moment, { at: times[0] })} · ${h(Moment, { at: times[0], relative: true })} · ${h(Until, { until: at + 40e3 })} · ${h(Moment, { at: null })}</p>${h(Shell, { text: "angarium console" })}`,
    )}
    ${h(Shelf, { title: t("Payload") }, h(Payload, { text: JSON_TEXT }), h(Payload, { text: "" }), h(Payload, { text: MARKUP }))}
    ${h(Shelf, { title: t("Difference") }, h(Difference, { before: "one\ntwo\nthree", after: "one\n2\nthree\nfour" }), h(Difference, { before: "same", after: "same" }))}
    ${h(
      Shelf,
      { title: t("Charts") },
      h(Chart, {
        times,
        seconds: false,
        unit: t("per second"),
        series: [
          { name: t("Delivered"), tone: "accent", values: wave(400) },
          { name: t("Failed"), tone: "bad", dashed: true, values: wave(40) },
        ],
      }),
      h(Spark, {
        points: times.slice(0, 24).map((_, index) => ({ good: index * 3, bad: index % 5 ? 0 : 9 })),
        label: t("24 hours"),
      }),
    )}
    ${h(Shelf, { title: t("Empty and loading") }, h(Empty, { title: t("Nothing here yet.") }), html`<div class="sample">${h(Skeleton, { rows: 4 })}</div>`)}
    </div>
    ${h(
      Shelf,
      { title: t("Errors") },
      STATUSES.map((status) => h(Failure, { key: status, error: problem(status), retry: () => undefined })),
    )}
    <section class="panel"><header><h2>${t("Table")}</h2></header>${h(Table, {
      label: t("Table"),
      list: { items: rows },
      id: (row) => row.id,
      href: () => "#table",
      columns: [
        { title: t("Name"), on: "main", cell: (row) => row.name },
        { title: t("State"), on: "side", cell: (row) => h(State, { name: row.state }) },
        { title: t("Number"), number: true, on: "end", cell: (row) => row.n },
      ],
    })}${h(More, { list: { items: rows, more: () => undefined } })}</section>
    ${open && h(Dialog, { title: t("Ask it"), close: () => setOpen(false) }, html`<p>${t("Esc closes it.")}</p>`)}`;
}
const MARKUP = '<img src=x onerror="alert(1)">';
