/** An event: its deliveries, the reasons of the rules that did not match, its payload; actions to send it again, also as a command. */
import { h, html, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { t, tn } from "../../shared/i18n.js";
import { member } from "../../shared/json.js";
import { useResource } from "../../shared/resource.js";
import { useStream } from "../../shared/stream.js";
import { Failure } from "../../shared/ui/failure.js";
import { copy, Ident } from "../../shared/ui/ident.js";
import { Moment } from "../../shared/ui/moment.js";
import { Payload } from "../../shared/ui/payload.js";
import { Empty, Skeleton, Table } from "../../shared/ui/table.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { Head } from "../../shared/head.js";
import { useNames } from "../../shared/names.js";
import { columns, link, merged } from "../../shared/parts/deliveries.js";
import { tellBegun } from "../../shared/parts/replay-begun.js";
import { Sending } from "../parts/sending.js";
import { WhyNot } from "../parts/whynot.js";
import { api, at, writes } from "../session.js";

const ENDED = ["DELIVERED", "FAILED", "DRY_RUN"]; // a replay takes deliveries that have ended
const SENT = [
  "eventType",
  "payload",
  "occurredAt",
  "metadata",
  "source",
  "customerExternalId",
  "correlationId",
  "requestId",
];

/** Return a body that posts the event again, with its exact texts. @param {string} text the API's answer */
function posted(text) {
  const parts = SENT.map((name) => [name, member(text, [name])]).filter(
    ([, value]) => value !== null && value !== "null",
  );
  return `{${parts.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

/** Return a command that posts the event again. @param {string} body */
function curl(body) {
  return `curl -X POST ${location.origin}/events -H "Authorization: Bearer $ANGARIUM_KEY" -H "Content-Type: application/json" --data-binary '${body.replaceAll("'", "'\\''")}'`;
}

/** @param {{event: any}} props */
function Facts({ event }) {
  const of = (/** @type {string} */ title, /** @type {any} */ value) =>
    value ? html`<dt>${title}</dt><dd>${value}</dd>` : null;
  return html`<dl class="facts inside">
    ${of(t("Id"), h(Ident, { id: event.id, whole: true }))}
    ${of(t("Received"), h(Moment, { at: event.receivedAt, whole: true }))}
    ${of(t("Occurred"), h(Moment, { at: event.occurredAt, whole: true }))}
    ${of(t("Customer"), event.customerExternalId && html`<a href=${at(`/events?customerExternalId=${encodeURIComponent(event.customerExternalId)}`)}>${event.customerExternalId}</a>`)}
    ${of(t("Correlation"), event.correlationId)}
    ${of(t("Idempotency key"), event.idempotencyKey)}
    ${of(t("Source"), event.source)}
    ${of(t("Origin"), words(event.origin))}
  </dl>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const found = useResource(
    (signal) =>
      api.call("GET", `/events/${id}`, { text: true, signal }).then((text) => ({ text, event: JSON.parse(text) })),
    [id],
  );
  const deliveries = useResource((signal) => api.get(`/events/${id}/deliveries`, { limit: 100 }, signal), [id]);
  const [why, setWhy] = useState(false);
  const [again, setAgain] = useState(false);
  useNames();
  useStream(
    api,
    "deliveries",
    {},
    {
      deliveries: ({ items }) =>
        deliveries.set((old) => {
          const { rows, others } = merged(old.items, items);
          return { ...old, items: [...others.filter((each) => each.eventId === id), ...rows] };
        }),
    },
    deliveries.reload,
  );
  const up = /** @type {[string, string]} */ (["/events", t("Events")]);
  if (!found.data)
    return html`${h(Head, { title: t("Event"), up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 14 })}`;
  const { text, event } = found.data;
  const payload = member(text, ["payload"]);
  const metadata = member(text, ["metadata"]);
  const body = posted(text);
  const asked = why || (deliveries.data && !deliveries.data.items.length);
  const ended = (deliveries.data?.items ?? []).filter((/** @type {any} */ each) => ENDED.includes(each.status));
  const replay = async (/** @type {any[]} */ chosen) => {
    const deliveryIds = chosen.map((each) => each.id);
    const job = await act(() => api.post("/replay-jobs", { deliveryIds }));
    if (job) tellBegun(job);
  };
  const facts = columns({ type: false });
  const [next] = facts.splice(-1);
  const step = {
    ...next,
    title: t("Next step"),
    cell: (/** @type {any} */ row) =>
      writes.value && ENDED.includes(row.status)
        ? h(Button, { act: () => replay([row]) }, t("Send again"))
        : next.cell(row),
  };
  const copied = async () => {
    await copy(curl(body));
    say(t("Copied as a curl command"));
  };
  return html`${h(
    Head,
    { title: event.eventType, up, live: true },
    html`<button type="button" class="button" onClick=${copied}>${t("Copy as curl")}</button>`,
    writes.value &&
      ended.length > 0 &&
      h(
        Button,
        { act: () => replay(ended), keys: "r" },
        tn("Send again to {n} destination", "Send again to {n} destinations", ended.length),
      ),
    writes.value &&
      html`<button type="button" class="button" onClick=${() => setAgain(true)}>${t("Edit and send again")}</button>`,
  )}
    <div class="two">
      <div class="stack">
        <section class="panel"><header><h2>${t("Deliveries")}</h2></header>
          ${h(Table, { label: t("Deliveries"), columns: [...facts, step], list: { ...deliveries, items: deliveries.data?.items ?? null }, id: (row) => row.id, href: link, skeleton: 3, empty: h(Empty, { title: t("No destination got this event.") }) })}
        </section>
        <section class="panel"><header><h2>${t("Which rules match?")}</h2>
          ${!asked && html`<button type="button" class="button" onClick=${() => setWhy(true)}>${t("Check every rule")}</button>`}</header>
          ${asked ? h(WhyNot, { id, deliveries: deliveries.data?.items ?? [] }) : html`<p class="inside quiet">${t("Which rules match this event, which do not, and the values that their filters read.")}</p>`}
        </section>
      </div>
      <div class="stack">
        <section class="panel"><header><h2>${t("Payload")}</h2>${writes.value && event.origin !== "OWN" && html`<a class="button" href=${at(`/schemas?new=1&type=${encodeURIComponent(event.eventType)}`)}>${t("Infer a schema")}</a>`}</header><div class="inside">
          ${h(Payload, { text: payload === "null" ? null : payload, none: t("The payload is erased.") })}
          ${metadata && metadata !== "null" && h(Payload, { text: metadata, title: t("Metadata") })}</div></section>
        <section class="panel"><header><h2>${t("Facts")}</h2></header>${h(Facts, { event })}</section>
      </div>
    </div>
    ${again && h(Sending, { close: () => setAgain(false), type: event.eventType, payload: payload ?? "{}", customer: event.customerExternalId ?? "" })}`;
}
