/** The list of routing rules: find the destinations of a type and failing filters; try rules and edit them. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { usePages, useResource } from "../../shared/resource.js";
import { asked, clear, query, setQuery } from "../../shared/router.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Filters } from "../../shared/ui/filters.js";
import { More } from "../../shared/ui/more.js";
import { Empty, Table } from "../../shared/ui/table.js";
import { Head } from "../../shared/head.js";
import { useNames } from "../../shared/names.js";
import { RuleEditor } from "../parts/rule-editor.js";
import { columns } from "../parts/rules.js";
import { Trial } from "../parts/rule-trial.js";
import { api, at, writes } from "../session.js";

/** @returns {import("../../shared/ui/filters.js").Filter[]} */
const filters = () => [
  { name: "destinationId", label: t("Destination"), named: true },
  { name: "enabled", label: t("State"), options: ["true", "false"], words: [t("On"), t("Off")] },
];

/** The rule of the address, on any page of the list. @param {{id: string, close: () => void}} props */
function Opened({ id, close }) {
  const found = useResource((signal) => api.get(`/routing-rules/${id}`, {}, signal), [id]);
  return found.data && h(RuleEditor, { rule: found.data, close });
}

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/routing-rules", given);
  const { open, new: making, try: trying } = query();
  useNames();
  const close = () => {
    setQuery({ open: null, new: null, try: null });
    found.reload();
  };
  const blank = {
    name: "",
    destinationId: given.destinationId ?? "",
    eventTypes: ["*"],
    filter: null,
    priority: "STANDARD",
    enabled: true,
  };
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No rule matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("A rule says which events a destination gets.") },
        html`<p class="quiet">${t("Without a rule, events are kept but not delivered.")}</p>`,
      );
  return html`${h(Head, { title: t("Routing rules") }, html`<button type="button" class="button" onClick=${() => setQuery({ try: "1" })}>${t("Who gets an event?")}</button>`, writes.value && html`<button type="button" class="button primary" data-key="n" onClick=${() => setQuery({ new: "1" })}>${t("New rule")}</button>`)}
    ${h(Filters, { filters: filters() })}
    <section class="panel">${h(Table, { label: t("Routing rules"), columns: columns({ filter: found.items?.some((/** @type {any} */ row) => row.filter) }), list: found, empty, id: (row) => row.id, href: (row) => at(`/rules?open=${row.id}`), skeleton: 18 })}
      ${h(More, { list: found })}</section>
    ${open && h(Opened, { id: open, close })}
    ${trying && h(Dialog, { title: t("Who gets an event?"), close, wide: true }, h(Trial, { type: trying === "1" ? "" : trying, titled: false }))}
    ${making && writes.value && h(RuleEditor, { rule: blank, close })}`;
}
