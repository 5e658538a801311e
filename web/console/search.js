/** The search of the console: by ID, key, correlation or name, or by the beginning of a customer or an event type. */
import { h, html, useEffect, useRef, useState } from "../vendor/preact.js";
import { short, words } from "../shared/format.js";
import { t } from "../shared/i18n.js";
import { useResource } from "../shared/resource.js";
import { go } from "../shared/router.js";
import { Dialog } from "../shared/ui/dialog.js";
import { Failure } from "../shared/ui/failure.js";
import { Field } from "../shared/ui/field.js";
import { api, at } from "./session.js";

const STILL_MS = 250;
/** @type {Record<string, (id: string) => string>} the addresses of found objects */
const PLACES = {
  EVENT: (id) => `/events/${id}`,
  DELIVERY: (id) => `/deliveries/${id}`,
  DESTINATION: (id) => `/destinations/${id}`,
  ROUTING_RULE: (id) => `/rules?open=${id}`,
  REPLAY_JOB: (id) => `/replays/${id}`,
  CUSTOMER: (id) => `/customers/${encodeURIComponent(id)}`,
  EVENT_TYPE: (id) => `/events?eventType=${encodeURIComponent(id)}`,
};

/** @param {{text: string, close: () => void}} props */
function Found({ text, close }) {
  const found = useResource(
    (signal) => (text ? api.get("/lookup", { q: text }, signal) : Promise.resolve({ items: [] })),
    [text],
    true,
  );
  if (found.error && !found.data) return h(Failure, { error: found.error, retry: found.reload });
  const items = (found.data?.items ?? []).filter((/** @type {any} */ each) => each.kind in PLACES);
  if (text && found.data && !found.stale && !items.length)
    return html`<p class="quiet" role="status">${t("Nothing found. Enter an id, a key, a part of a destination's name, or the beginning of a customer or event type.")}</p>`;
  return html`<ul class="rules">${items.map(
    (/** @type {any} */ each) => html`<li key=${each.kind + each.id}>
    <a class="row spread opener" href=${at(PLACES[each.kind](each.id))} onClick=${close}><span class="cut">${each.label}</span><span class="quiet">${words(each.kind)}${each.id === each.label ? "" : html` <span class="mono">${short(each.id)}</span>`}</span></a></li>`,
  )}</ul>`;
}

/** @param {{close: () => void}} props */
export function Search({ close }) {
  const [draft, setDraft] = useState("");
  const [text, setText] = useState("");
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const timer = setTimeout(() => setText(draft.trim()), STILL_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  const first = (/** @type {Event} */ event) => {
    event.preventDefault();
    const link = list.current?.querySelector("a");
    if (!link) return;
    close();
    go(link.href);
  };
  return h(
    Dialog,
    { title: t("Search"), close },
    html`<form class="stack" role="search" onSubmit=${first}>
    ${h(Field, { label: t("Id, key, correlation, destination, customer or event type"), value: draft, change: setDraft, kind: "search", autofocus: true, spellcheck: false })}
    <div class="findings" ref=${list}>${h(Found, { text, close })}</div></form>`,
  );
}
