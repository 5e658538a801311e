/** The list of destinations, failing ones first: find one, compare them, create another. */
import { h, html, useMemo, useRef } from "../../vendor/preact.js";
import { compact, duration, percent } from "../format.js";
import { locale, number, t } from "../i18n.js";
import { lazily, usePages } from "../resource.js";
import { asked, clear, query, setQuery } from "../router.js";
import { useStream, withHealth } from "../stream.js";
import { late, Scripted, Spark, State } from "../ui/state.js";
import { Empty, Table, usePicks } from "../ui/table.js";
import { Head } from "../head.js";
import { api, at, may, whole } from "../api.js";

const Creation = lazily(() => import("../parts/creation.js").then((found) => found.Creation));
const Filters = lazily(() => import("../ui/filters.js").then((found) => found.Filters));
const Hold = lazily(() => import("../parts/holds.js").then((found) => found.Hold));
const Late = lazily(() => import("../parts/holds.js").then((found) => found.Late));
const Since = lazily(() => import("../parts/holds.js").then((found) => found.Since));
const Switching = lazily(() => import("../parts/switching.js").then((found) => found.Switching));
const More = lazily(() => import("../ui/more.js").then((found) => found.More));

const filters = () => [
  { name: "name", label: t("Name"), placeholder: t("Part of a name") },
  { name: "state", label: t("State"), options: ["FAILING", "DEGRADED", "HEALTHY", "IDLE", "DISABLED"] },
  ...(whole ? [{ name: "customerExternalId", label: t("Customer") }] : []),
];

/** @type {(later?: boolean) => import("../ui/table.js").Column<any>[]} `later`: with what is loaded after a first view */
export const columns = (later = true) => [
  {
    title: t("Destination"),
    on: "main",
    sort: "name",
    cell: ({ destination: { name, customerExternalId: customer, transformVersion: version } }) => {
      const owner = whole && customer ? ` · ${customer}` : "";
      return html`<span title=${name + owner}>${name}${owner && html`<span class="quiet">${owner}</span>`}</span>${h(Scripted, { version })}`;
    },
  },
  {
    title: t("State"),
    on: "side",
    width: "10.5rem",
    sort: "trouble",
    cell: ({ health }) => html`${h(State, { name: health.state })}${later && h(Since, { health })}`,
  },
  {
    title: t("Waiting"),
    number: true,
    on: "end",
    named: true,
    width: "5.5rem",
    sort: "pending",
    cell: ({ health }) => number(health.queue.pending),
  },
  {
    title: t("In flight"),
    number: true,
    wide: true,
    width: "6rem",
    cell: ({ health }) =>
      html`${number(health.queue.inFlight)} <span class="quiet">/ ${number(health.queue.concurrency)}</span>`,
  },
  {
    title: t("24 hours"),
    width: "7rem",
    cell: (row) =>
      h(Spark, {
        points: row.series.map((/** @type {any} */ each) => ({ good: each.delivered, bad: each.failed })),
        label: t("{delivered} delivered, {failed} failed", row.totals),
      }),
  },
  { title: t("Success"), number: true, wide: true, width: "5rem", cell: ({ health }) => percent(health.successRate) },
  { title: "p95", number: true, wide: true, width: "5rem", cell: ({ health }) => duration(health.latencyMs.p95) },
  {
    title: t("Dead"),
    number: true,
    width: "6.5rem",
    cell: (row) =>
      row.inDlq
        ? html`<span class="bad">${compact(row.inDlq)}${row.atLeast ? "+" : ""}</span>`
        : html`<span class="quiet">0</span>`,
  },
  {
    title: t("Last error, or address"),
    on: "sub",
    cell: ({ destination, health }) => {
      const wrong = ["HEALTHY", "IDLE"].includes(health.state) ? null : health.lastError;
      if (later && !wrong && late(health)) return h(Late, { health });
      if (later && !wrong && health.hold && health.hold.reason !== "DISABLED") return h(Hold, { hold: health.hold });
      const text = wrong || destination.url;
      return html`<span class="cut quiet" title=${text}>${text}</span>`;
    },
  },
];

export function Page() {
  const given = asked(filters());
  const { sort = "trouble", new: making } = query();
  const found = usePages(api, "/destinations/summaries", { sort, ...given });
  const { picked, pick, none } = usePicks(JSON.stringify(given));
  useStream(
    api,
    "health",
    {},
    {
      health: (told) => found.set((old) => ({ ...old, items: withHealth(old.items, told.items) })),
    },
    found.reload,
  );
  // Rows are loaded first, then the parts around them, which stay while other rows are loaded.
  const shown = useRef(false);
  shown.current ||= Boolean(found.items ?? found.error);
  const filtered = Object.keys(given).length > 0;
  const empty = filtered
    ? h(
        Empty,
        { title: t("No destination matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("A destination is an address that events are delivered to.") },
        may("createDestinations") &&
          html`<button type="button" class="button primary" onClick=${() => setQuery({ new: "1" })}>${t("New destination")}</button>`,
      );
  return html`${h(
    Head,
    { title: t("Destinations"), live: true },
    may("createDestinations") &&
      html`<button type="button" class="button primary" data-key="n" onClick=${() => setQuery({ new: "1" })}>${t("New destination")}</button>`,
  )}
    <div class="filters-place">${shown.current && h(Filters, { filters: filters() })}</div>
    <section class="panel">
      ${
        picked.size > 0 &&
        found.items &&
        h(Switching, {
          picked,
          rows: found.items,
          done: () => {
            none();
            found.reload();
          },
        })
      }
      ${h(Table, {
        label: t("Destinations"),
        columns: useMemo(columns, [locale.value]),
        list: found,
        empty,
        id: (row) => row.destination.id,
        href: (row) => at(`/destinations/${row.destination.id}`),
        sorted: sort,
        sort: (order) => setQuery({ sort: order }),
        skeleton: 18,
        ...(may("switchDestinations") ? { picked, pick } : {}),
      })}
      ${shown.current && h(More, { list: found })}
    </section>
    ${
      making &&
      may("createDestinations") &&
      h(Creation, {
        close: () => {
          setQuery({ new: null });
          found.reload();
        },
      })
    }`;
}
