/** The transform bench: a script beside five recent real events, and what it makes of each. It is published after a run without failure. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { duration } from "../format.js";
import { t, tn } from "../i18n.js";
import { usePages, useResource } from "../resource.js";
import { Difference } from "../ui/difference.js";
import { Empty, Skeleton } from "../ui/empty.js";
import { Failure } from "../ui/failure.js";
import { Field } from "../ui/field.js";
import { Moment } from "../ui/moment.js";
import { Payload } from "../ui/payload.js";
import { State } from "../ui/state.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { api, at, may, whole } from "../api.js";

const EVENTS = 5;
const BLANK = "function transform(event) {\n  return event;\n}\n";

/** @param {unknown} value */
const text = (value) =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** What became of one event. @param {{event: any, result: any}} props */
function Result({ event, result }) {
  const word = !result ? t("not run yet") : result.skipped ? t("skipped") : result.success ? t("fits") : t("fails");
  const state = !result ? "IDLE" : result.success ? "HEALTHY" : "FAILING";
  return html`<details class="result" open=${result && !result.success}><summary class="row wrap"><strong>${event.eventType}</strong>${h(State, { name: state, word })}
      ${result && html`<span class="quiet">${duration(result.durationMs)}</span>`}<span class="quiet">${h(Moment, { at: event.receivedAt })}</span></summary>
    ${
      result &&
      html`<div class="stack inside">
      ${result.errorMessage && html`<p class="bad">${result.errorMessage}</p>`}
      ${result.success && !result.skipped && h(Difference, { before: text(result.input), after: text(result.output) })}
      ${result.logs && h(Payload, { text: result.logs, title: t("Log of the script") })}</div>`
    }
  </details>`;
}

/** @param {{id: string}} props the destination's id */
export function Page({ id }) {
  const destination = useResource((signal) => api.get(`/destinations/${id}`, {}, signal), [id]);
  const scripts = usePages(api, `/destinations/${id}/transform-scripts`, {});
  const recent = useResource(
    async (signal) => {
      const { items } = await api.get(`/destinations/${id}/deliveries`, { limit: EVENTS }, signal);
      return items.map((/** @type {any} */ each) => ({
        id: each.eventId,
        eventType: each.eventType,
        receivedAt: each.createdAt,
      }));
    },
    [id],
  );
  const [source, setSource] = useState(/** @type {string | null} */ (null));
  const [saved, setSaved] = useState(/** @type {any} */ (null));
  const [results, setResults] = useState(/** @type {Record<string, any>} */ ({}));
  const [error, setError] = useState(/** @type {any} */ (null));
  const newest = scripts.items?.[0];
  useEffect(() => {
    if (scripts.items && source === null) {
      setSource(newest?.source ?? BLANK);
      setSaved(newest ?? null);
    }
  }, [scripts.items]);
  const up = /** @type {[string, string]} */ ([`/destinations/${id}`, destination.data?.name ?? t("Destination")]);
  if (scripts.error && !scripts.items)
    return html`${h(Head, { title: t("Transform bench"), up })}${h(Failure, { error: scripts.error, retry: scripts.reload })}`;
  if (source === null || !scripts.items)
    return html`${h(Head, { title: t("Transform bench"), up })}${h(Skeleton, { rows: 14 })}`;
  const events = recent.data ?? [];
  const changed = saved?.source !== source;
  const green = !changed && events.length > 0 && events.every((/** @type {any} */ each) => results[each.id]?.success);
  const run = async () => {
    setError(null);
    try {
      const script = changed
        ? await api.post("/transform-scripts", { destinationId: id, name: saved?.name ?? t("Script"), source })
        : saved;
      setSaved(script);
      /** @type {Record<string, any>} */
      const found = {};
      for (const event of events)
        found[event.id] = await api.post(`/transform-scripts/${script.id}/run`, { eventId: event.id });
      setResults(found);
      scripts.reload();
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const turn = (/** @type {any} */ script, /** @type {string} */ verb, /** @type {string} */ said) =>
    act(() => api.post(`/transform-scripts/${script.id}/${verb}`), said).then((next) => {
      if (next && script.id === saved?.id) setSaved({ ...saved, ...next });
      scripts.reload();
    });
  const live = scripts.items.find((/** @type {any} */ each) => each.status === "PUBLISHED");
  return html`${h(
    Head,
    { title: t("Transform bench"), up },
    live &&
      may("manageTransforms") &&
      h(
        Button,
        { act: () => turn(live, "unpublish", t("No script runs now.")) },
        t("Take version {n} back", { n: live.version }),
      ),
    may("manageTransforms") &&
      h(
        Button,
        {
          act: () => turn(saved, "publish", t("Version {n} is live.", { n: saved?.version })),
          kind: "primary",
          disabled: !green || saved?.status === "PUBLISHED",
        },
        t("Publish"),
      ),
  )}
    <div class="halves bench"><section class="panel"><header><h2>${t("Script")}</h2>
        <span class="row">${saved && !changed ? h(State, { name: saved.status, word: t("Version {n}", { n: saved.version }) }) : html`<span class="quiet">${t("changed")}</span>`}
        ${may("manageTransforms") && h(Button, { act: run, keys: "r" }, changed ? t("Save and run") : t("Run"))}</span></header>
      <div class="inside stack">${h(Field, {
        label: t("JavaScript: function transform(event)"),
        area: true,
        value: source,
        change: (value) => {
          setSource(value);
          setResults({});
        },
      })}
        ${error && h(Failure, { error })}
        ${!green && may("manageTransforms") && html`<p class="quiet">${t("It can be published after a run that every event passes.")}</p>`}</div>
      ${
        scripts.items.length > 0 &&
        html`<ul class="rules">${scripts.items.slice(0, 8).map(
          (/** @type {any} */ each) => html`<li key=${each.id}><div class="row spread">
        <button type="button" class="link" onClick=${() => {
          setSource(each.source);
          setSaved(each);
          setResults({});
        }}>${t("Version {n}", { n: each.version })}</button>
        <span class="row">${h(State, { name: each.status })}<span class="quiet">${h(Moment, { at: each.createdAt })}</span></span></div></li>`,
        )}</ul>`
      }</section>
    <section class="panel"><header><h2>${tn("{n} recent event", "{n} recent events", events.length)}</h2></header>
      ${recent.error && h(Failure, { error: recent.error, retry: recent.reload })}
      ${
        recent.data && !events.length
          ? h(
              Empty,
              { title: t("This destination got no event yet.") },
              whole && html`<a class="button" href=${at("/events?send=1")}>${t("Send an event")}</a>`,
            )
          : events.map((/** @type {any} */ event) => h(Result, { key: event.id, event, result: results[event.id] }))
      }</section></div>`;
}
