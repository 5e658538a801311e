/** A delivery: its requests and answers, the time of the next attempt, its holds, and the actions on it. */
import { h, html, useMemo } from "../../vendor/preact.js";
import { short, words } from "../format.js";
import { t } from "../i18n.js";
import { member } from "../json.js";
import { useResource } from "../resource.js";
import { go } from "../router.js";
import { useStream } from "../stream.js";
import { Empty, Skeleton } from "../ui/table.js";
import { Failure } from "../ui/failure.js";
import { Copy, Ident } from "../ui/ident.js";
import { Moment } from "../ui/moment.js";
import { Payload } from "../ui/payload.js";
import { State } from "../ui/state.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { DestinationName, useNames } from "../names.js";
import { stateOf } from "../parts/deliveries.js";
import { tellBegun } from "../parts/replay-begun.js";
import { Timeline } from "../parts/timeline.js";
import { Waits } from "../parts/waits.js";
import { Reshaped } from "../parts/reshaped.js";
import { api, at, may, whole } from "../api.js";

/** @param {{delivery: any, changed: () => void}} props */
function Actions({ delivery, changed }) {
  const { id, status, dlqStatus } = delivery;
  const waits = ["PENDING", "RETRYING"].includes(status);
  const dead = dlqStatus === "IN_DLQ";
  const retry = () =>
    act(
      () => api.post(`/deliveries/${id}/retry`),
      t("The delivery is queued. It is sent as soon as nothing holds it."),
    ).then(changed);
  const cancel = () => act(() => api.post(`/deliveries/${id}/cancel`), t("The delivery is cancelled.")).then(changed);
  const discard = () =>
    act(() => api.post("/dlq/discard", { deliveryIds: [id] }), t("The delivery is discarded.")).then(changed);
  const replay = async () => {
    const job = await act(() => api.post("/replay-jobs", { deliveryIds: [id] }));
    if (job && whole) go(at(`/replays/${job.id}`));
    else if (job) tellBegun(job);
  };
  return html`${may("retryDeliveries") && (waits || dead) && h(Button, { act: retry, kind: "primary", keys: "r" }, dead ? t("Retry") : t("Send now"))}
    ${may("discardDeliveries") && waits && h(Button, { act: cancel, kind: "danger" }, t("Cancel it"))}
    ${may("discardDeliveries") && dead && h(Button, { act: discard, kind: "danger" }, t("Discard"))}
    ${may("replay") && !waits && !dead && status !== "DELIVERING" && h(Button, { act: replay, keys: "r" }, t("Send again"))}`;
}

/** @param {{delivery: any}} props */
function Facts({ delivery }) {
  const version = delivery.attempts.at(-1)?.transformVersion;
  const of = (/** @type {string} */ title, /** @type {any} */ value) =>
    value ? html`<dt>${title}</dt><dd>${value}</dd>` : null;
  return html`<dl class="facts inside">
    ${of(t("State"), h(State, { name: stateOf(delivery) }))}
    ${of(t("Script"), delivery.attempts.length > 0 && (version ? t("Version {n}", { n: version }) : t("none")))}
    ${of(t("Destination"), h(DestinationName, { id: delivery.destinationId }))}
    ${of(t("Event"), h(Ident, { id: delivery.eventId, href: whole ? at(`/events/${delivery.eventId}`) : undefined }))}
    ${of(t("Id"), h(Ident, { id: delivery.id, whole: true }))}
    ${whole && of(t("Customer"), delivery.event?.customerExternalId)}
    ${of(t("Link"), html`<span class="ident"><span>…/deliveries/${short(delivery.id)}</span>${h(Copy, { text: location.origin + at(`/deliveries/${delivery.id}`), label: t("Copy the link") })}</span>`)}
    ${of(t("Created"), h(Moment, { at: delivery.createdAt, whole: true }))}
    ${of(t("Delivered"), delivery.deliveredAt && h(Moment, { at: delivery.deliveredAt, whole: true }))}
    ${of(t("Priority"), words(delivery.priority))}
    ${of(t("Origin"), words(delivery.originKind))}
    ${of(t("Replay of"), delivery.replayOf && h(Ident, { id: delivery.replayOf, href: at(`/deliveries/${delivery.replayOf}`) }))}
    ${of(t("Replay"), delivery.replayJobId && h(Ident, { id: delivery.replayJobId, href: whole ? at(`/replays/${delivery.replayJobId}`) : undefined }))}
  </dl>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const found = useResource(
    (signal) =>
      api
        .call("GET", `/deliveries/${id}`, { text: true, signal })
        .then((text) => ({ text, delivery: JSON.parse(text) })),
    [id],
  );
  const names = useNames();
  const delivery = found.data?.delivery;
  useStream(
    api,
    "deliveries",
    delivery ? { destinationId: delivery.destinationId } : {},
    {
      deliveries: ({ items }) => {
        if (items.some((/** @type {any} */ each) => each.id === id)) found.reload();
      },
    },
    found.reload,
  );
  const payload = useMemo(() => found.data && member(found.data.text, ["event", "payload"]), [found.data?.text]);
  const up = /** @type {[string, string]} */ (["/deliveries", t("Deliveries")]);
  if (!delivery)
    return html`${h(Head, { title: t("Delivery"), up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 14 })}`;
  const waits = ["PENDING", "RETRYING"].includes(delivery.status);
  return html`${h(
    Head,
    { title: `${delivery.eventType} → ${names[delivery.destinationId] ?? "…"}`, up, live: true },
    html`<a class="button" href=${at(`/signatures?delivery=${id}`)}>${t("Check signature")}</a>`,
    h(Actions, { delivery, changed: found.reload }),
  )}
    <div class="two">
      <section class="panel"><header><h2>${t("Timeline")}</h2>${h(State, { name: stateOf(delivery) })}</header>
        ${delivery.attempts.length ? h(Timeline, { key: delivery.attempts.length, delivery }) : h(Empty, { title: t("No attempt has been made yet.") })}
      </section>
      <div class="stack">
        ${waits && html`<section class="panel"><header><h2>${t("What holds it")}</h2></header>${h(Waits, { id, destinationId: delivery.destinationId, seen: delivery.updatedAt })}</section>`}
        <section class="panel"><header><h2>${t("Facts")}</h2></header>${h(Facts, { delivery })}</section>
        <section class="panel"><header><h2>${t("Payload of the event")}</h2></header><div class="inside stack">
          ${h(Reshaped, { delivery, payload: payload === "null" ? null : (payload ?? null) })}
          ${h(Payload, { text: payload === "null" ? null : payload, none: t("Erased, no longer kept, or not visible to you.") })}</div></section>
      </div>
    </div>`;
}
