/** The routing rules of a destination. */
import { h, html } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { usePages } from "../../../shared/resource.js";
import { More } from "../../../shared/ui/more.js";
import { Empty, Table } from "../../../shared/ui/table.js";
import { api, at, writes } from "../../session.js";
import { columns } from "../rules.js";

/** @param {{destination: any}} props */
export function RulesOf({ destination }) {
  const found = usePages(api, "/routing-rules", { destinationId: destination.id });
  const add =
    writes.value &&
    html`<a class="button" href=${at(`/rules?new=1&destinationId=${destination.id}`)}>${t("New rule")}</a>`;
  const filter = found.items?.some((/** @type {any} */ row) => row.filter);
  return html`<section class="panel"><header><h2>${t("Routing rules")}</h2><span class="row wrap"><a class="button" href=${at("/rules?try=1")}>${t("Who gets an event?")}</a>${add}</span></header>
    ${h(Table, { label: t("Routing rules"), columns: columns({ destination: false, filter }), list: found, id: (row) => row.id, href: (row) => at(`/rules?open=${row.id}&destinationId=${destination.id}`), empty: h(Empty, { title: t("No rule leads to this destination, so it gets no events.") }) })}
    ${h(More, { list: found })}</section>`;
}
