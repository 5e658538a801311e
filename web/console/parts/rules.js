/** Routing rules in lists. */
import { h, html } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { Moment } from "../../shared/ui/moment.js";
import { State } from "../../shared/ui/state.js";
import { DestinationName } from "../../shared/names.js";

/** @param {{destination?: boolean, filter?: boolean}} [shown] @returns {import("../../shared/ui/table.js").Column<any>[]} */
export function columns({ destination = true, filter = true } = {}) {
  return [
    { title: t("Rule"), on: "main", cell: (row) => html`<span title=${row.name}>${row.name}</span>` },
    {
      title: t("Event types"),
      on: "sub",
      cell: (row) =>
        html`<span class="cut mono" title=${row.eventTypes.join(", ")}>${row.eventTypes.join(", ")}</span>`,
    },
    ...(filter
      ? [
          {
            title: t("Filter"),
            cell: (/** @type {any} */ row) =>
              html`<span class="cut mono quiet" title=${row.filter ?? ""}>${row.filter ?? ""}</span>`,
          },
        ]
      : []),
    ...(destination
      ? [{ title: t("Destination"), cell: (/** @type {any} */ row) => h(DestinationName, { id: row.destinationId }) }]
      : []),
    { title: t("Priority"), width: "6rem", cell: (row) => (row.priority === "STANDARD" ? null : words(row.priority)) },
    {
      title: t("Filter errors"),
      number: true,
      width: "7rem",
      cell: (row) =>
        row.filterErrors
          ? html`<span class="bad" title=${row.filterErrors.lastMessage}>${number(row.filterErrors.count)}</span>`
          : html`<span class="quiet">0</span>`,
    },
    {
      title: t("State"),
      on: "side",
      width: "7rem",
      cell: (row) => h(State, { name: row.enabled ? "ON" : "OFF", word: row.enabled ? t("On") : t("Off") }),
    },
    {
      title: t("Changed"),
      number: true,
      on: "end",
      width: "8rem",
      cell: (row) => html`<span class="quiet">${h(Moment, { at: row.updatedAt })}</span>`,
    },
  ];
}
