/** The event schemas: find a type, infer one from recent events, open its versions. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { t, tn } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { asked, clear, go, query, setQuery } from "../../shared/router.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Filters } from "../../shared/ui/filters.js";
import { Moment } from "../../shared/ui/moment.js";
import { Payload } from "../../shared/ui/payload.js";
import { State } from "../../shared/ui/state.js";
import { More } from "../../shared/ui/more.js";
import { Empty, Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { api, at, writes } from "../session.js";
import { SCHEMA_STATUSES } from "../../shared/words.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "eventType", label: t("Event type"), placeholder: "order.created" },
  { name: "status", label: t("State"), options: SCHEMA_STATUSES },
];

/** @type {() => import("../../shared/ui/table.js").Column<any>[]} */
const columns = () => [
  { title: t("Event type"), on: "main", cell: (row) => html`<span title=${row.eventType}>${row.eventType}</span>` },
  { title: t("Version"), number: true, on: "end", width: "6rem", cell: (row) => row.version },
  { title: t("State"), on: "side", width: "9rem", cell: (row) => h(State, { name: row.status }) },
  {
    title: t("Description"),
    on: "sub",
    cell: (row) => html`<span class="cut quiet" title=${row.description ?? ""}>${row.description ?? ""}</span>`,
  },
  { title: t("Activated"), number: true, width: "9rem", cell: (row) => h(Moment, { at: row.activatedAt }) },
  {
    title: t("Created"),
    number: true,
    width: "9rem",
    cell: (row) => html`<span class="quiet">${h(Moment, { at: row.createdAt })}</span>`,
  },
];

/** A schema inferred from recent events. @param {{of: string, close: () => void}} props `of`: the type of an event that was looked at, or empty */
function Inference({ of, close }) {
  const [type, setType] = useState(of);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const infer = async (/** @type {boolean} */ create) => {
    setError(null);
    try {
      const answer = await api.post("/schemas/infer", { eventType: type, create });
      if (answer.created) go(at(`/schemas/${encodeURIComponent(type)}`));
      else setFound(answer);
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  useEffect(() => {
    if (of) infer(false);
  }, []);
  return h(
    Dialog,
    { title: t("Infer a schema"), close },
    html`<form class="form" onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      infer(false);
    }}>
    ${h(Field, {
      label: t("Event type"),
      value: type,
      change: (text) => {
        setType(text);
        setFound(null);
      },
      required: true,
      autofocus: true,
      hint: t("The schema is inferred from the most recent events of this type."),
    })}
    ${
      found &&
      html`<p role="status">${tn("{n} event was read.", "{n} events were read.", found.sampled)}</p>
      ${found.conflicts.length > 0 && html`<ul class="notice tone-warn">${found.conflicts.map((/** @type {any} */ each) => html`<li><code>${each.path}</code> ${each.message}</li>`)}</ul>`}
      ${h(Payload, { text: JSON.stringify(found.schema) })}`
    }
    ${error && h(Failure, { error })}
    <div class="row"><button class=${found ? "button" : "button primary"} disabled=${!type}>${t("Preview")}</button>
      ${found && found.sampled === 0 && html`<a class="button primary" href=${at(`/schemas/${encodeURIComponent(type)}`)}>${t("Write a schema")}</a>`}
      ${found && found.sampled > 0 && html`<button type="button" class="button primary" onClick=${() => infer(true)}>${t("Save as a draft")}</button>`}</div>
  </form>`,
  );
}

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/schemas", given);
  const infer = () => setQuery({ new: "1" });
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No schema matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("No event type has a schema yet.") },
        html`<p class="quiet">${t("An active schema refuses events that do not fit it. You can infer a schema from recent events.")}</p>`,
        writes.value &&
          html`<button type="button" class="button primary" onClick=${infer}>${t("Infer a schema")}</button>`,
      );
  return html`${h(Head, { title: t("Schemas") }, writes.value && html`<button type="button" class="button primary" data-key="n" onClick=${infer}>${t("Infer a schema")}</button>`)}
    ${h(Filters, { filters: filters() })}
    <section class="panel">${h(Table, { label: t("Schemas"), columns: columns(), list: found, empty, id: (row) => row.id, href: (row) => at(`/schemas/${encodeURIComponent(row.eventType)}?version=${row.version}`), skeleton: 12 })}
      ${h(More, { list: found })}</section>
    ${
      query().new &&
      writes.value &&
      h(Inference, {
        of: query().type ?? "",
        close: () => {
          setQuery({ new: null, type: null });
          found.reload();
        },
      })
    }`;
}
