/** An endpoint: the cause of its failures, its deliveries, settings and secret; actions to test, switch and recover it. */
import { h, html, useState } from "../../vendor/preact.js";
import { api, at, may } from "../../shared/api.js";
import { duration, percent } from "../../shared/format.js";
import { number, t } from "../../shared/i18n.js";
import { Head } from "../../shared/head.js";
import { columns, Fresh, link } from "../../shared/parts/deliveries.js";
import { Figure, Trouble, useNow } from "../../shared/parts/destination/now.js";
import { Settings } from "../../shared/parts/destination/settings.js";
import { Switches } from "../../shared/parts/destination/switches.js";
import { Hold } from "../../shared/parts/holds.js";
import { Replaying } from "../../shared/parts/replaying.js";
import { useResource } from "../../shared/resource.js";
import { go } from "../../shared/router.js";
import { Failure } from "../../shared/ui/failure.js";
import { More } from "../../shared/ui/more.js";
import { State } from "../../shared/ui/state.js";
import { Empty, Skeleton, Table } from "../../shared/ui/table.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { Subscriptions } from "../subscriptions.js";

/** The state of the endpoint, and its latest deliveries. @param {{destination: any}} props */
function Overview({ destination: { id } }) {
  const { health, list, fresh, show } = useNow(id);
  const now = health.data;
  if (!now) return health.error ? h(Failure, { error: health.error, retry: health.reload }) : h(Skeleton, { rows: 10 });
  return html`<p class="verdict">${h(State, { name: now.state })}${h(Hold, { hold: now.state === "DISABLED" ? null : now.hold })}</p>
    ${h(Trouble, { health: now }, html`<a href=${at(`/deliveries?destinationId=${id}&status=FAILED`)}>${t("Its dead letters")}</a>`)}
    <section class="figures" aria-label=${t("Figures")}>
      ${h(Figure, { name: t("Success") }, percent(now.successRate))}
      ${h(Figure, { name: t("Waiting") }, number(now.queue.pending))}
      ${h(Figure, { name: t("Latency p50, p95") }, html`${duration(now.latencyMs.p50)} <span class="unit">p95 ${duration(now.latencyMs.p95)}</span>`)}
    </section>
    <section class="panel"><header><h2>${t("Deliveries")}</h2>${h(Fresh, { count: fresh, show })}<a href=${at(`/deliveries?destinationId=${id}`)}>${t("Filter them")}</a></header>
      ${h(Table, { label: t("Deliveries"), columns: columns({ destination: false }), list, id: (row) => row.id, href: link, skeleton: 8, empty: h(Empty, { title: t("Nothing has been delivered here yet.") }, may("testDestinations") && html`<p class="quiet">${t("Send a sample to try the address.")}</p>`) })}
      ${h(More, { list: list })}
    </section>`;
}

/** @param {{id: string, tab?: string}} props */
export function Page({ id, tab = "overview" }) {
  const found = useResource((signal) => api.get(`/destinations/${id}`, {}, signal), [id]);
  const [recovers, setRecovers] = useState(false);
  const up = /** @type {[string, string]} */ (["/destinations", t("Destinations")]);
  const destination = found.data;
  if (!destination)
    return html`${h(Head, { title: t("Destination"), up })}
      ${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 14 })}`;
  const changed = (/** @type {any} */ next) => {
    if (next.status === "ARCHIVED") go(at());
    else found.set((old) => ({ ...old, ...next, secret: undefined }));
  };
  const path = `/destinations/${id}`;
  const tabs = /** @type {[string, string, string][]} */ ([
    ["overview", t("Overview"), at(path)],
    ["types", t("Event types"), at(`${path}/types`)],
    ["settings", t("Settings"), at(`${path}/settings`)],
    ...(may("manageTransforms") ? [["script", t("Transform"), at(`${path}/script`)]] : []),
  ]);
  const views = /** @type {Record<string, any>} */ ({ overview: Overview, types: Subscriptions, settings: Settings });
  return html`${h(
    Head,
    { title: destination.name, up, live: tab === "overview" },
    may("replay") &&
      destination.status !== "ARCHIVED" &&
      html`<button type="button" class="button" onClick=${() => setRecovers(true)}>${t("Recover since…")}</button>`,
    h(Switches, { destination, changed }),
  )}
    <p class="row wrap quiet">${destination.status !== "ACTIVE" && h(State, { name: destination.status })}<span class="mono wide-text">${destination.url}</span></p>
    ${h(Tabs, { label: t("Views of the endpoint"), now: tab, tabs })}
    ${views[tab] ? h(views[tab], { destination, changed }) : html`<p>${t("There is no such page.")}</p>`}
    ${recovers && h(Replaying, { close: () => setRecovers(false), destinationId: id })}`;
}
