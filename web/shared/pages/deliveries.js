/** The deliveries: narrow them down, watch them, open one, act on the picked ones. */
import { h, html, useEffect, useMemo, useState } from "../../vendor/preact.js";
import { words } from "../format.js";
import { locale, t, tn } from "../i18n.js";
import { usePages } from "../resource.js";
import { asked, clear } from "../router.js";
import { useStream } from "../stream.js";
import { Filters } from "../ui/filters.js";
import { More } from "../ui/more.js";
import { Empty, Picked, Table, usePicks } from "../ui/table.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { useNames } from "../names.js";
import { AllMatching } from "../parts/all-matching.js";
import { columns, Fresh, gaveUp, link, merged } from "../parts/deliveries.js";
import { tellBegun } from "../parts/replay-begun.js";
import { api, at, may, whole } from "../api.js";
import { DELIVERY_ORIGINS, ERROR_CATEGORIES, PRIORITIES } from "../words.js";

/** A continued search examines as many rows in a request as the API allows. */
export const DEEPER = { examine: 20_000 };
const WAITING = "PENDING,RETRYING";
const TROUBLE = "RETRYING,FAILED";
const STATES = [WAITING, TROUBLE, "PENDING", "DELIVERING", "RETRYING", "DELIVERED", "FAILED", "DRY_RUN"];
/** The texts of some states on this page. @type {() => Record<string, string>} */
const called = () => ({ [WAITING]: t("Waiting or retrying"), [TROUBLE]: t("Failed or retrying"), FAILED: gaveUp() });
/** The filters whose values the stream sends for each delivery. */
const TOLD = ["status", "eventType", "errorCategory", "responseStatus"];

/** @returns {import("../ui/filters.js").Filter[]} */
const filters = () => [
  {
    name: "status",
    label: t("State"),
    options: STATES,
    words: STATES.map((each) => called()[each] ?? words(each)),
  },
  { name: "errorCategory", label: t("Last error"), options: ERROR_CATEGORIES },
  { name: "eventType", label: t("Event type") },
  ...(whole ? [{ name: "customerExternalId", label: t("Customer of the destination") }] : []),
  { name: "responseStatus", label: t("Answer"), placeholder: "500", rare: true },
  { name: "destinationId", label: t("Destination"), named: true },
  { name: "originKind", label: t("Origin"), options: DELIVERY_ORIGINS, rare: true },
  { name: "priority", label: t("Priority"), options: PRIORITIES, rare: true },
  { name: "replayJobId", label: t("Replay"), placeholder: t("Id"), rare: true },
  { name: "from", label: t("From"), kind: "datetime-local", rare: true },
  { name: "to", label: t("To"), kind: "datetime-local", rare: true },
];

/** Return the filters as the API takes them: local times with their offset, several states as a list. @param {Record<string, string>} given */
export function zoned(given) {
  /** @type {import("../api.js").Query} */
  const out = { ...given };
  for (const name of ["from", "to"]) if (given[name]) out[name] = new Date(given[name]).toISOString();
  if (given.status?.includes(",")) out.status = given.status.split(",");
  return out;
}

/** @param {{picked: Set<string>, rows: any[], done: () => void}} props */
function Bulk({ picked, rows, done }) {
  const chosen = rows.filter((each) => picked.has(each.id));
  const waiting = chosen.filter((each) => ["PENDING", "RETRYING"].includes(each.status));
  const ended = chosen.filter((each) => ["DELIVERED", "FAILED", "DRY_RUN"].includes(each.status));
  const each = async (/** @type {string} */ verb) => {
    for (const row of waiting) if (!(await act(() => api.post(`/deliveries/${row.id}/${verb}`)))) break;
    done();
  };
  const replay = async () => {
    const job = await act(() => api.post("/replay-jobs", { deliveryIds: ended.map((row) => row.id) }));
    if (!job) return;
    tellBegun(job);
    done();
  };
  return h(
    Picked,
    { count: picked.size, none: done },
    html`${may("retryDeliveries") && waiting.length > 0 && h(Button, { act: () => each("retry"), keys: "r" }, tn("Send {n} now", "Send {n} now", waiting.length))}
    ${may("discardDeliveries") && waiting.length > 0 && h(Button, { act: () => each("cancel"), kind: "danger" }, tn("Cancel {n}", "Cancel {n}", waiting.length))}
    ${may("replay") && ended.length > 0 && h(Button, { act: replay }, tn("Replay {n}", "Replay {n}", ended.length))}`,
  );
}

export function Page() {
  const given = asked(filters());
  const found = usePages(api, "/deliveries", zoned(given), DEEPER);
  const [fresh, setFresh] = useState(0);
  const key = JSON.stringify(given);
  const { picked, pick, none } = usePicks(key);
  useNames();
  useEffect(() => setFresh(0), [key]);
  useStream(
    api,
    "deliveries",
    given.destinationId ? { destinationId: given.destinationId } : {},
    {
      deliveries: (told) => {
        found.set((old) => {
          const { rows, others } = merged(old.items, told.items);
          const newest = old.items[0]?.id ?? "";
          const fits = others.filter(
            (each) =>
              each.id > newest &&
              TOLD.every((name) => !given[name] || given[name].split(",").includes(String(each[name]))),
          );
          if (fits.length + told.omitted) setTimeout(() => setFresh((n) => n + fits.length + told.omitted));
          return { ...old, items: rows };
        });
      },
    },
    found.reload,
  );
  const reload = () => {
    setFresh(0);
    found.reload();
  };
  const shown = useMemo(() => columns({ destination: !given.destinationId }), [!given.destinationId, locale.value]);
  const empty = Object.keys(given).length
    ? h(
        Empty,
        { title: t("No delivery matches.") },
        html`<button type="button" class="button" onClick=${() => clear(filters())}>${t("Clear filters")}</button>`,
      )
    : h(
        Empty,
        { title: t("Nothing has been delivered yet.") },
        html`<p class="quiet">${t("When routing rules match an event, each of their destinations gets a delivery.")}</p>
      ${whole && html`<a class="button" href=${at("/events?send=1")}>${t("Send an event")}</a>`}`,
      );
  return html`${h(Head, { title: t("Deliveries"), live: true })}
    ${h(Filters, { filters: filters() }, [h(Fresh, { count: fresh, show: reload }), whole && may("retryDeliveries") && h(AllMatching, { key: "all", given: zoned(given) })])}
    <section class="panel">
      ${
        picked.size > 0 &&
        found.items &&
        h(Bulk, {
          picked,
          rows: found.items,
          done: () => {
            none();
            reload();
          },
        })
      }
      ${h(Table, {
        label: t("Deliveries"),
        columns: shown,
        list: found,
        empty,
        id: (row) => row.id,
        href: link,
        skeleton: 18,
        ...(may("retryDeliveries") || may("replay") ? { picked, pick } : {}),
      })}
      ${h(More, { list: found })}
    </section>`;
}
