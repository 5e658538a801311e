/** The transform bench: a script, five recent real events, and the result for each. A run stores nothing; a run without failure allows publication. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { duration } from "../format.js";
import { number, t, tn } from "../i18n.js";
import { isJson } from "../json.js";
import { usePages, useResource } from "../resource.js";
import { Difference } from "../ui/difference.js";
import { Skeleton } from "../ui/table.js";
import { Failure } from "../ui/failure.js";
import { Field } from "../ui/field.js";
import { Moment } from "../ui/moment.js";
import { Payload } from "../ui/payload.js";
import { State } from "../ui/state.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { api, at, may, whole } from "../api.js";

const EVENTS = 5;
/** The sample that is run if no event has come yet. The reader writes its content. */
const SAMPLE = { id: "sample", eventType: "", receivedAt: null };
const BLANK = "function transform(event) {\n  return event;\n}\n";

/** @param {unknown} value */
const text = (value) =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** The result of one event. @param {{event: any, result: any}} props */
function Result({ event, result }) {
  const word = !result
    ? t("not run yet")
    : result.skipped
      ? t("skipped")
      : result.success
        ? t("succeeded")
        : t("failed");
  const state = !result ? "IDLE" : result.success ? "HEALTHY" : "FAILING";
  return html`<details class="result" open=${result && !result.success}><summary class="row wrap"><strong>${event.eventType || t("Sample event")}</strong>${h(State, { name: state, word })}
      ${result && html`<span class="quiet">${result.success ? t("{n} ms of CPU", { n: number(result.durationMs, { maximumFractionDigits: 2 }) }) : duration(result.durationMs)}</span>`}${event.receivedAt && html`<span class="quiet">${h(Moment, { at: event.receivedAt })}</span>`}</summary>
    ${
      result &&
      html`<div class="stack inside">
      ${result.errorMessage && html`<p class="bad">${result.errorMessage}</p>`}
      ${result.success && !result.skipped && h(Difference, { before: text(result.input), after: text(result.output) })}
      ${result.logs && h(Payload, { text: result.logs, title: t("Log of the script") })}</div>`
    }
  </details>`;
}

/** @param {{id: string}} props the destination's ID */
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
  const [sample, setSample] = useState('{"type": "order.created", "data": {}}');
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
  const sampled = recent.data !== null && recent.data.length === 0;
  const events = sampled ? [SAMPLE] : (recent.data ?? []);
  const changed = saved?.source !== source;
  const green = events.length > 0 && events.every((/** @type {any} */ each) => results[each.id]?.success);
  const wrong = isJson(sample) ? null : t("This is not JSON yet.");
  const attempt = async (/** @type {() => Promise<any>} */ work) => {
    setError(null);
    try {
      return await work();
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const run = () =>
    attempt(async () => {
      /** @type {Record<string, any>} */
      const found = {};
      const script = `"destinationId":"${id}","source":${JSON.stringify(source)}`;
      for (const event of events) {
        const body = `{${script},${sampled ? `"event":${sample}` : `"eventId":"${event.id}"`}}`;
        found[event.id] = await api.call("POST", "/transform-scripts/preview", { body });
      }
      setResults(found);
    });
  const save = () =>
    attempt(async () => {
      const name = saved?.name ?? t("Script");
      const script = changed ? await api.post("/transform-scripts", { destinationId: id, name, source }) : saved;
      setSaved(script);
      scripts.reload();
      return script;
    });
  const turn = (/** @type {any} */ script, /** @type {string} */ verb, /** @type {string} */ said) =>
    act(() => api.post(`/transform-scripts/${script.id}/${verb}`), said).then((next) => {
      if (next) setSaved((/** @type {any} */ old) => (old?.id === script.id ? { ...old, ...next } : old));
      scripts.reload();
    });
  const publish = async () => {
    const script = await save();
    if (script) await turn(script, "publish", t("Version {n} is live.", { n: script.version }));
  };
  const live = scripts.items.find((/** @type {any} */ each) => each.status === "PUBLISHED");
  return html`${h(
    Head,
    { title: t("Transform bench"), up },
    live &&
      may("manageTransforms") &&
      h(
        Button,
        { act: () => turn(live, "unpublish", t("No script is live now.")) },
        t("Unpublish version {n}", { n: live.version }),
      ),
    may("manageTransforms") &&
      h(
        Button,
        {
          act: publish,
          kind: "primary",
          disabled: !green || (!changed && saved?.status === "PUBLISHED"),
        },
        t("Publish"),
      ),
  )}
    <div class="halves bench"><section class="panel"><header><h2>${t("Script")}</h2>
        <span class="row wrap">${saved && !changed ? h(State, { name: saved.status, word: t("Version {n}", { n: saved.version }) }) : html`<span class="quiet">${t("changed")}</span>`}
        ${may("manageTransforms") && html`${h(Button, { act: save, disabled: !changed }, t("Save as a draft"))}${h(Button, { act: run, keys: "r", disabled: sampled && wrong !== null }, t("Run"))}`}</span></header>
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
        ${!green && may("manageTransforms") && html`<p class="quiet">${t("You can publish the script after a run in which every event succeeds. A run stores nothing.")}</p>`}</div>
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
    <section class="panel"><header><h2>${sampled ? t("Sample event") : tn("{n} recent event", "{n} recent events", events.length)}</h2></header>
      ${recent.error && h(Failure, { error: recent.error, retry: recent.reload })}
      ${
        sampled &&
        html`<div class="inside stack"><div class="row spread wrap"><span class="quiet">${t("This destination has received no event yet.")}</span>${whole && html`<a class="button" href=${at("/events?send=1")}>${t("Send an event")}</a>`}</div>
        ${h(Field, {
          label: t("Body as it would be sent"),
          area: true,
          value: sample,
          change: (value) => {
            setSample(value);
            setResults({});
          },
          wrong,
        })}</div>`
      }
      ${events.map((/** @type {any} */ event) => h(Result, { key: event.id, event, result: results[event.id] }))}</section></div>`;
}
