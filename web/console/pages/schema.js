/** The versions of an event type's schema: their differences, and the active one. */
import { h, html, useState } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { isJson, laidOut } from "../../shared/json.js";
import { usePages } from "../../shared/resource.js";
import { query } from "../../shared/router.js";
import { Difference } from "../../shared/ui/difference.js";
import { Empty, Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Moment } from "../../shared/ui/moment.js";
import { Payload } from "../../shared/ui/payload.js";
import { State } from "../../shared/ui/state.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { Head } from "../../shared/head.js";
import { api, at, writes } from "../session.js";

/** @param {any} schema */
const text = (schema) =>
  laidOut(JSON.stringify(schema))
    .map(([, part]) => part)
    .join("");

const BLANK = { schema: { type: "object" }, description: null, example: null };

/** A new version, which begins as a copy. Its example tries it: one that does not conform is refused, with the places. @param {{eventType: string, from: any, made: () => void}} props */
function Draft({ eventType, from, made }) {
  const [schema, setSchema] = useState(text(from.schema));
  const [description, setDescription] = useState(from.description ?? "");
  const [example, setExample] = useState(from.example === null ? "" : text(from.example));
  const [error, setError] = useState(/** @type {any} */ (null));
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    try {
      const words = JSON.stringify({ eventType, description: description || null }).slice(0, -1);
      await api.call("POST", "/schemas", { body: `${words},"schema":${schema},"example":${example.trim() || null}}` });
      say(t("The draft is saved. Activate it to apply it."));
      made();
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const wrong = isJson(schema) ? null : t("This is not JSON yet.");
  const wrongExample = !example.trim() || isJson(example) ? null : t("This is not JSON yet.");
  return html`<section class="panel"><header><h2>${t("New version")}</h2></header><form class="form inside" onSubmit=${save}>
    ${h(Field, { label: t("JSON Schema"), value: schema, change: setSchema, area: true, wrong })}
    ${h(Field, { label: t("Example"), value: example, change: setExample, area: true, wrong: wrongExample, hint: t("Optional: a payload that fits the schema. Saving checks it.") })}
    ${h(Field, { label: t("Description"), value: description, change: setDescription })}
    ${error && h(Failure, { error })}<div class="row"><button class="button primary" disabled=${(wrong ?? wrongExample) !== null}>${t("Save as a draft")}</button></div></form></section>`;
}

/** @param {{eventType: string}} props */
export function Page({ eventType }) {
  const found = usePages(api, `/schemas/types/${encodeURIComponent(eventType)}/versions`, {});
  const [drafting, setDrafting] = useState(false);
  const up = /** @type {[string, string]} */ (["/schemas", t("Schemas")]);
  const versions = found.items;
  if (!versions)
    return html`${h(Head, { title: eventType, up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 10 })}`;
  const shown = versions.find((/** @type {any} */ each) => String(each.version) === query().version) ?? versions[0];
  if (!shown)
    return html`${h(Head, { title: eventType, up })}${h(Empty, { title: t("This event type has no schema.") })}
      ${writes.value && h(Draft, { eventType, from: BLANK, made: found.reload })}`;
  const before = versions.find((/** @type {any} */ each) => each.version === shown.version - 1);
  const turn = (/** @type {string} */ verb, /** @type {string} */ said) =>
    act(() => api.post(`/schemas/${shown.id}/${verb}`), said).then(found.reload);
  return html`${h(
    Head,
    { title: eventType, up },
    html`<a class="button" href=${at(`/rules?try=${encodeURIComponent(eventType)}`)}>${t("Who gets it?")}</a>`,
    writes.value &&
      shown.status !== "ACTIVE" &&
      h(
        Button,
        { act: () => turn("activate", t("Version {n} is active now.", { n: shown.version })), kind: "primary" },
        t("Activate version {n}", { n: shown.version }),
      ),
    writes.value &&
      shown.status === "ACTIVE" &&
      h(
        Button,
        { act: () => turn("deprecate", t("No version is active now: every payload is accepted.")) },
        t("Deprecate"),
      ),
    writes.value &&
      html`<button type="button" class="button" onClick=${() => setDrafting(!drafting)}>${t("New version")}</button>`,
  )}
    <div class="aside"><nav class="panel" aria-label=${t("Versions")}><ul class="rules">${versions.map(
      (/** @type {any} */ each) => html`<li>
        <a class="row spread" aria-current=${each === shown ? "true" : null} href=${at(`/schemas/${encodeURIComponent(eventType)}?version=${each.version}`)}><strong>${t("Version {n}", { n: each.version })}</strong>${h(State, { name: each.status })}</a>
        <span class="quiet">${h(Moment, { at: each.createdAt })}</span></li>`,
    )}</ul></nav>
      <div class="stack">
        ${
          drafting &&
          h(Draft, {
            eventType,
            from: shown,
            made: () => {
              setDrafting(false);
              found.reload();
            },
          })
        }
        ${shown.description && html`<p>${shown.description}</p>`}
        ${before && html`<section class="panel"><header><h2>${t("Changes since version {n}", { n: before.version })}</h2></header><div class="inside">${h(Difference, { before: text(before.schema), after: text(shown.schema) })}</div></section>`}
        <section class="panel"><header><h2>${t("Version {n}", { n: shown.version })}</h2><a href=${at(`/events?eventType=${encodeURIComponent(eventType)}`)}>${t("Its events")}</a></header>
          <div class="inside">${h(Payload, { text: JSON.stringify(shown.schema) })}</div></section>
        ${shown.example !== null && html`<section class="panel"><header><h2>${t("Example")}</h2></header><div class="inside">${h(Payload, { text: JSON.stringify(shown.example) })}</div></section>`}
      </div></div>`;
}
