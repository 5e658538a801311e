/** The settings of a destination, and its signing secret. */
import { h, html, useState } from "../../../vendor/preact.js";
import { t } from "../../i18n.js";
import { Failure } from "../../ui/failure.js";
import { Field } from "../../ui/field.js";
import { Copy } from "../../ui/ident.js";
import { say } from "../../ui/toasts.js";
import { act, Button } from "../../act.js";
import { forgetNames } from "../../names.js";
import { api, may as mayDo, whole } from "../../api.js";
import { HTTP_METHODS } from "../../words.js";
import { Authentication } from "./authentication.js";

/** The console shows a reader the settings that it cannot change; the portal omits them. @param {import("../../api.js").Ability} ability */
const may = (ability) => whole || mayDo(ability);

/** Headers as lines of `name: value`. @param {Record<string, string>} headers */
const lines = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

/** @param {any} destination */
function drafted({ name, url, method, disableAfterSeconds, description, headers, delivery }) {
  return {
    name,
    url,
    method,
    disableAfter: String(disableAfterSeconds ?? ""),
    description: description ?? "",
    headers: lines(headers),
    ordering: delivery.ordering,
    timeoutMs: String(delivery.timeoutMs),
    rate: String(delivery.rateLimitPerSecond ?? ""),
    schedule: delivery.retrySchedule.join(" "),
  };
}

/** Return the merge patch between two drafts. @param {any} before @param {any} draft */
function patchOf(before, draft) {
  const changed = (/** @type {string} */ name) => before[name] !== draft[name];
  /** @type {any} */
  const patch = {};
  /** @type {any} */
  const delivery = {};
  if (changed("name")) patch.name = draft.name;
  if (changed("url")) patch.url = draft.url;
  if (changed("method")) patch.method = draft.method;
  if (changed("disableAfter")) patch.disableAfterSeconds = draft.disableAfter ? Number(draft.disableAfter) : null;
  if (changed("description")) patch.description = draft.description || null;
  if (changed("headers")) {
    const pairs = draft.headers
      .split("\n")
      .filter((/** @type {string} */ line) => line.trim())
      .map((/** @type {string} */ line) => {
        const [name, ...rest] = line.split(":");
        return [name.trim(), rest.join(":").trim()];
      });
    const old = Object.fromEntries(
      before.headers
        .split("\n")
        .filter(Boolean)
        .map((/** @type {string} */ line) => [line.split(":")[0], null]),
    );
    patch.headers = { ...old, ...Object.fromEntries(pairs) };
  }
  if (changed("ordering")) delivery.ordering = draft.ordering;
  if (changed("timeoutMs")) delivery.timeoutMs = Number(draft.timeoutMs);
  if (changed("rate")) delivery.rateLimitPerSecond = draft.rate ? Number(draft.rate) : null;
  if (changed("schedule"))
    delivery.retrySchedule = draft.schedule
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(Number);
  if (Object.keys(delivery).length) patch.delivery = delivery;
  return patch;
}

/** The rotation of the secret, which is shown only once. @param {{destination: any}} props */
function Secret({ destination }) {
  const [secret, setSecret] = useState("");
  const { algorithm, publicKey } = destination.signing;
  const rotate = async () => {
    const next = await act(
      () => api.patch(`/destinations/${destination.id}`, { rotateSecret: true }),
      t("The secret is new. For 24 hours, requests are also signed with the previous one."),
    );
    if (next?.secret) setSecret(next.secret);
  };
  return html`<section class="panel"><header><h2>${t("Signing")}</h2>${mayDo("rotateSecrets") && h(Button, { act: rotate }, t("Rotate the secret"))}</header>
    <div class="inside stack"><p>${algorithm === "ED25519" ? html`Ed25519 <code class="wide-text">${publicKey}</code>` : "HMAC-SHA256"}</p>
      <p class="quiet">${t("Requests are signed as Standard Webhooks defines it. Libraries for nearly every language verify them.")}</p>
      ${algorithm !== "ED25519" && !secret && html`<p class="quiet">${t("The secret is shown once: when the destination is created, and after a rotation. If you do not have it, rotate it. For 24 hours, requests are also signed with the previous secret.")}</p>`}
      ${
        secret &&
        html`<div class="field"><span class="label">${t("Signing secret")}</span><div class="command"><code tabindex="0">${secret}</code>${h(Copy, { text: secret, label: t("Copy the secret") })}</div>
        <span class="hint">${t("Give the secret to the receiver now: it is not shown again.")}</span></div>`
      }</div></section>`;
}

/** @param {{destination: any, changed: (destination: any) => void}} props */
export function Settings({ destination, changed }) {
  const before = drafted(destination);
  const [draft, setDraft] = useState(before);
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const patch = patchOf(before, draft);
  const changeable = mayDo("editDestinations") || mayDo("editHeaders") || mayDo("editDeliveryOptions");
  const same = Object.keys(patch).length === 0;
  const wrong = (/** @type {string} */ path) =>
    error?.details.find((/** @type {any} */ each) => each.path.startsWith(path))?.message ?? null;
  const field = (/** @type {keyof typeof before} */ name, path = /** @type {string} */ (name)) => ({
    value: draft[name],
    wrong: wrong(path),
    change: (/** @type {string} */ value) => setDraft({ ...draft, [name]: value }),
  });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const next = await api.patch(`/destinations/${destination.id}`, patch);
      if (patch.name) forgetNames();
      changed(next);
      setDraft(drafted(next));
      say(t("Saved. It applies from the next attempt on."));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
    setBusy(false);
  };
  return html`<div class="two"><section class="panel"><header><h2>${t("Settings")}</h2></header>
    <form class="form inside" onSubmit=${save}><fieldset class="form" disabled=${!changeable || destination.status === "ARCHIVED"}>
      ${may("editDestinations") && h(Field, { label: t("Name"), ...field("name"), required: true })}
      ${may("editDestinations") && !destination.templateId && h(Field, { label: t("Address"), ...field("url"), kind: "url", required: true, hint: t("If you change the host, enter every header value shown as *** again.") })}
      ${may("editDestinations") && h(Field, { label: t("Description"), ...field("description") })}
      ${may("editHeaders") && h(Field, { label: t("Headers"), ...field("headers"), area: true, hint: t("One per line, such as X-Tenant: 42. A value of *** stays unchanged.") })}
      ${
        may("editDeliveryOptions") &&
        html`<div class="pair">
        ${h(Field, {
          label: t("Order"),
          ...field("ordering", "delivery.ordering"),
          options: [
            ["NONE", t("None")],
            ["KEY", t("Per customer")],
            ["STRICT", t("Strict: one at a time")],
          ],
        })}
        ${h(Field, { label: t("Timeout, ms"), ...field("timeoutMs", "delivery.timeoutMs"), kind: "number", min: 100, max: 60000 })}
        ${h(Field, { label: t("Rate limit, per second"), ...field("rate", "delivery.rateLimitPerSecond"), kind: "number", hint: t("Empty: no limit.") })}
      </div>`
      }
      ${may("editDeliveryOptions") && h(Field, { label: t("Retry schedule, seconds"), ...field("schedule", "delivery.retrySchedule"), hint: t("The wait after each failed attempt, such as 5 60 600. Empty: one attempt only.") })}
      ${
        may("editDeliveryOptions") &&
        html`<div class="pair">
        ${h(Field, {
          label: t("Method"),
          ...field("method"),
          options: HTTP_METHODS.map((each) => /** @type {[string, string]} */ ([each, each])),
        })}
        ${h(Field, { label: t("Switch off after, seconds"), ...field("disableAfter", "disableAfterSeconds"), kind: "number", min: 1, hint: t("Counted from the first failure after the last success. Empty: never.") })}
      </div>`
      }
      ${error && h(Failure, { error })}
      ${
        changeable &&
        html`<div class="row"><button class="button primary" disabled=${busy || same}>${t("Save")}</button>
        ${!same && html`<button type="button" class="button" onClick=${() => setDraft(before)}>${t("Reset")}</button>`}</div>`
      }
    </fieldset></form></section>
    <div class="stack">${h(Secret, { destination })}${may("editHeaders") && h(Authentication, { key: destination.authentication?.kind ?? "", destination, changed })}</div></div>`;
}
