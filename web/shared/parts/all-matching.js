/** A job that cancels or retries all waiting deliveries of a destination that match the list's filters, after a count. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { t, tn } from "../i18n.js";
import { go } from "../router.js";
import { Dialog } from "../ui/dialog.js";
import { Failure } from "../ui/failure.js";
import { api, at } from "../api.js";
import { counted } from "./replaying.js";

/** The filters of the list that such a job also has. */
const TAKEN = ["destinationId", "status", "eventType", "customerExternalId", "from", "to"];

/** Return what a job would select, or null where the filters ask for more than a job can. @param {any} given as the API takes them */
function selected(given) {
  const { destinationId, eventType, customerExternalId, from, to } = given;
  const states = [given.status ?? []].flat();
  if (!destinationId || states.some((each) => !["PENDING", "RETRYING"].includes(each))) return null;
  const status = states.length > 1 ? undefined : states[0]; // a job takes both states that wait
  if (Object.keys(given).some((name) => !TAKEN.includes(name))) return null;
  return { destinationId, status, eventTypes: eventType ? [eventType] : null, customerExternalId, from, to };
}

/** Return the text of a button. Without a state filter the list also shows settled deliveries; the job takes only waiting ones. @param {string} verb @param {{status?: string}} selection */
function title(verb, { status }) {
  if (verb === "retry") return status ? t("Retry all that match") : t("Retry all that wait");
  return status ? t("Cancel all that match") : t("Cancel all that wait");
}

/** @param {{verb: string, selection: {status?: string}, close: () => void}} props `verb`: retry or cancel */
function Confirm({ verb, selection, close }) {
  const [count, setCount] = useState(/** @type {number | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  useEffect(() => {
    counted(`/deliveries/${verb}`, selection).then(setCount, setError);
  }, []);
  const start = () =>
    api.post(`/deliveries/${verb}`, selection).then((job) => {
      close();
      go(at(`/replays/${job.id}`));
    }, setError);
  const retries = verb === "retry";
  return h(
    Dialog,
    { title: title(verb, selection), close },
    html`<div class="stack">
    ${count === null && !error && html`<p role="status">${t("Counting…")}</p>`}
    ${count !== null && html`<p role="status">${retries ? tn("{n} delivery would be sent now.", "{n} deliveries would be sent now.", count) : tn("{n} delivery would never be sent.", "{n} deliveries would never be sent.", count)}</p>`}
    ${!retries && html`<p class="quiet">${t("To keep them, close this and switch the destination off.")}</p>`}
    ${error && h(Failure, { error })}
    <div class="row"><button type="button" class=${`button ${retries ? "primary" : "danger"}`} disabled=${!count} onClick=${start}>${retries ? tn("Retry {n}", "Retry all {n}", count ?? 0) : tn("Cancel {n}", "Cancel {n}", count ?? 0)}</button>
      <button type="button" class="button" onClick=${close}>${t("Close")}</button></div></div>`,
  );
}

/** @param {{given: import("../api.js").Query}} props `given`: the filters of the list, as the API takes them */
export function AllMatching({ given }) {
  const [verb, setVerb] = useState("");
  const selection = selected(given);
  if (!selection) return null;
  return html`<button type="button" class="button" onClick=${() => setVerb("retry")}>${title("retry", selection)}</button>
    <button type="button" class="button danger" onClick=${() => setVerb("cancel")}>${title("cancel", selection)}</button>
    ${verb && h(Confirm, { verb, selection, close: () => setVerb("") })}`;
}
