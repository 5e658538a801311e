/** A delivery: what was sent and answered, when the next attempt comes, what holds it, and what can be done. */
import { h, html, useMemo } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { t } from "../../shared/i18n.js";
import { member } from "../../shared/json.js";
import { useResource } from "../../shared/resource.js";
import { go } from "../../shared/router.js";
import { useStream } from "../../shared/stream.js";
import { Empty, Skeleton } from "../../shared/ui/empty.js";
import { Failure } from "../../shared/ui/failure.js";
import { Ident } from "../../shared/ui/ident.js";
import { Moment } from "../../shared/ui/moment.js";
import { Payload } from "../../shared/ui/payload.js";
import { State } from "../../shared/ui/state.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { DestinationName, useNames } from "../names.js";
import { stateOf } from "../parts/deliveries.js";
import { Timeline } from "../parts/timeline.js";
import { Waits } from "../parts/waits.js";
import { api, at, writes } from "../session.js";

/** @param {{delivery: any, changed: () => void}} props */
function Actions({ delivery, changed }) {
  if (!writes.value) return null;
  const { id, status, dlqStatus } = delivery;
  const waits = ["PENDING", "RETRYING"].includes(status);
  const dead = dlqStatus === "IN_DLQ";
  const retry = () => act(() => api.post(`/deliveries/${id}/retry`), t("It is sent now.")).then(changed);
  const cancel = () => act(() => api.post(`/deliveries/${id}/cancel`), t("It is cancelled.")).then(changed);
  const discard = () => act(() => api.post("/dlq/discard", { deliveryIds: [id] }), t("It is discarded.")).then(changed);
  const replay = async () => {
    const job = await act(() => api.post("/replay-jobs", { deliveryIds: [id] }));
    if (job) go(at(`/replays/${job.id}`));
  };
  return html`${(waits || dead) && h(Button, { act: retry, kind: "primary", keys: "r" }, dead ? t("Retry") : t("Send now"))}
    ${waits && h(Button, { act: cancel, kind: "danger" }, t("Cancel it"))}
    ${dead && h(Button, { act: discard, kind: "danger" }, t("Discard"))}
    ${!waits && !dead && status !== "DELIVERING" && h(Button, { act: replay, keys: "r" }, t("Replay"))}`;
}

/** @param {{delivery: any}} props */
function Facts({ delivery }) {
  const of = (/** @type {string} */ title, /** @type {any} */ value) =>
    value ? html`<dt>${title}</dt><dd>${value}</dd>` : null;
  return html`<dl class="facts inside">
    ${of(t("State"), h(State, { name: stateOf(delivery) }))}
    ${of(t("Destination"), h(DestinationName, { id: delivery.destinationId }))}
    ${of(t("Event"), h(Ident, { id: delivery.eventId, href: at(`/events/${delivery.eventId}`) }))}
    ${of(t("Id"), h(Ident, { id: delivery.id, whole: true }))}
    ${of(t("Customer"), delivery.event?.customerExternalId)}
    ${of(t("Created"), h(Moment, { at: delivery.createdAt }))}
    ${of(t("Delivered"), delivery.deliveredAt && h(Moment, { at: delivery.deliveredAt }))}
    ${of(t("Priority"), words(delivery.priority))}
    ${of(t("Origin"), words(delivery.originKind))}
    ${of(t("Replay of"), delivery.replayOf && h(Ident, { id: delivery.replayOf, href: at(`/deliveries/${delivery.replayOf}`) }))}
    ${of(t("Replay"), delivery.replayJobId && h(Ident, { id: delivery.replayJobId, href: at(`/replays/${delivery.replayJobId}`) }))}
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
    h(Actions, { delivery, changed: found.reload }),
  )}
    <div class="two">
      <section class="panel"><header><h2>${t("Timeline")}</h2>${h(State, { name: stateOf(delivery) })}</header>
        ${delivery.attempts.length ? h(Timeline, { key: delivery.attempts.length, delivery }) : h(Empty, { title: t("No attempt was made yet.") })}
      </section>
      <div class="stack">
        ${waits && html`<section class="panel"><header><h2>${t("What holds it")}</h2></header>${h(Waits, { id, seen: delivery.updatedAt })}</section>`}
        <section class="panel"><header><h2>${t("Facts")}</h2></header>${h(Facts, { delivery })}</section>
        <section class="panel"><header><h2>${t("Payload of the event")}</h2></header><div class="inside">
          ${h(Payload, { text: payload === "null" ? null : payload, none: t("Erased, or past retention.") })}</div></section>
      </div>
    </div>`;
}
