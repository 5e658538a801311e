/** The event types of an endpoint: its rules in the view of the customer. */
import { h, html, useState } from "../vendor/preact.js";
import { act, Button } from "../shared/act.js";
import { api, may } from "../shared/api.js";
import { t } from "../shared/i18n.js";
import { patterns, TypeChoice } from "../shared/parts/type-choice.js";
import { usePages } from "../shared/resource.js";
import { More } from "../shared/ui/more.js";
import { State } from "../shared/ui/state.js";
import { Empty, Table } from "../shared/ui/table.js";

/** Subscribe an endpoint to types. @param {any} destination @param {string[]} eventTypes */
export const subscribe = (destination, eventTypes) =>
  act(
    () => api.post("/routing-rules", { name: destination.name, destinationId: destination.id, eventTypes }),
    t("Subscribed. It applies to new events."),
  );

/** @param {{destination: any}} props */
export function Subscriptions({ destination }) {
  const found = usePages(api, "/routing-rules", { destinationId: destination.id });
  const [draft, setDraft] = useState("");
  const wanted = patterns(draft);
  const add = async () => {
    if (await subscribe(destination, wanted)) {
      setDraft("");
      found.reload();
    }
  };
  const remove = (/** @type {any} */ rule) =>
    act(() => api.delete(`/routing-rules/${rule.id}`), t("Unsubscribed.")).then(found.reload);
  const columns = /** @type {import("../shared/ui/table.js").Column<any>[]} */ ([
    {
      title: t("Event types"),
      on: "main",
      cell: (row) => html`<span title=${row.eventTypes.join(", ")}>${row.eventTypes.join(", ")}</span>`,
    },
    { title: t("Filter"), on: "sub", cell: (row) => html`<code class="cut" title=${row.filter}>${row.filter}</code>` },
    {
      title: t("State"),
      width: "7rem",
      on: "side",
      cell: (row) => h(State, { name: row.enabled ? "ON" : "DISABLED", word: row.enabled ? t("On") : t("Off") }),
    },
    ...(may("manageRules")
      ? [
          {
            title: t("Actions"),
            width: "9rem",
            on: "end",
            cell: (/** @type {any} */ row) => h(Button, { act: () => remove(row) }, t("Unsubscribe")),
          },
        ]
      : []),
  ]);
  return html`<section class="panel"><header><h2>${t("Event types")}</h2></header>
    ${
      may("manageRules") &&
      html`<form class="inside subscribing" onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        if (wanted.length) add();
      }}>${h(TypeChoice, { label: t("Subscribe to"), value: draft, change: setDraft, hint: t("Such as order.* invoice.paid, or * for every type.") })}
        <button class="button" disabled=${!wanted.length}>${t("Subscribe")}</button></form>`
    }
    ${h(Table, { label: t("Event types"), columns, list: found, skeleton: 4, id: (row) => row.id, empty: h(Empty, { title: t("This endpoint has no subscriptions, so it gets no events.") }) })}
    ${h(More, { list: found })}</section>`;
}
