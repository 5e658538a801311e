/** A destination: the cause of its failures, its settings and deliveries; actions to test, rotate, switch and archive it. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { useResource } from "../../shared/resource.js";
import { go } from "../../shared/router.js";
import { Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { Ident } from "../../shared/ui/ident.js";
import { State } from "../../shared/ui/state.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { Head } from "../../shared/head.js";
import { Analytics } from "../parts/destination/analytics.js";
import { Lanes } from "../parts/destination/lanes.js";
import { Live } from "../parts/destination/live.js";
import { Settings } from "../../shared/parts/destination/settings.js";
import { RulesOf } from "../parts/destination/rules.js";
import { Switches } from "../../shared/parts/destination/switches.js";
import { api, at } from "../session.js";

/** @type {Record<string, any>} */
const VIEWS = { live: Live, lanes: Lanes, analytics: Analytics, rules: RulesOf, settings: Settings };

/** @param {{id: string, tab?: string}} props */
export function Page({ id, tab = "live" }) {
  const found = useResource((signal) => api.get(`/destinations/${id}`, {}, signal), [id]);
  const up = /** @type {[string, string]} */ (["/destinations", t("Destinations")]);
  const destination = found.data;
  if (!destination) {
    return html`${h(Head, { title: t("Destination"), up })}
      ${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 14 })}`;
  }
  const changed = (/** @type {any} */ next) => {
    if (next.status === "ARCHIVED") go(at("/destinations"));
    else found.set((old) => ({ ...old, ...next, secret: undefined }));
  };
  const tabs = /** @type {[string, string, string][]} */ ([
    ["live", t("Live"), at(`/destinations/${id}`)],
    ["lanes", t("Lanes"), at(`/destinations/${id}/lanes`)],
    ["analytics", t("Analytics"), at(`/destinations/${id}/analytics`)],
    ["rules", t("Routing rules"), at(`/destinations/${id}/rules`)],
    ["script", t("Transform"), at(`/bench/${id}`)],
    ["settings", t("Settings"), at(`/destinations/${id}/settings`)],
  ]);
  return html`${h(Head, { title: destination.name, up, live: tab === "live" }, h(Switches, { destination, changed }))}
    <p class="row wrap quiet">${destination.status !== "ACTIVE" && h(State, { name: destination.status })}
      <span class="mono wide-text">${destination.url}</span>
      ${destination.customerExternalId ? html`<span>${t("Customer")} <a href=${at(`/customers/${encodeURIComponent(destination.customerExternalId)}`)}>${destination.customerExternalId}</a></span>` : html`<span>${t("Belongs to no customer")}</span>`}
      ${h(Ident, { id })}
      <a href=${at(`/audit?objectId=${id}`)}>${t("Who changed it?")}</a></p>
    ${h(Tabs, { label: t("Views of the destination"), now: tab, tabs })}
    ${VIEWS[tab] ? h(VIEWS[tab], { destination, changed }) : html`<p>${t("There is no such page.")}</p>`}`;
}
