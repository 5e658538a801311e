/** The change of an event's payload by a script, if one ran. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { isJson, laidOut, member } from "../json.js";
import { Difference } from "../ui/difference.js";

/** @param {string} text JSON */
const lines = (text) =>
  laidOut(text)
    .map(([, part]) => part)
    .join("");

/** @param {{delivery: any, payload: string | null}} props `payload`: the exact text of the event's payload */
export function Reshaped({ delivery, payload }) {
  const attempt = delivery.attempts.at(-1);
  if (!attempt) return null;
  const n = attempt.transformVersion;
  if (n === null) return html`<p class="quiet">${t("No script changed the payload.")}</p>`;
  if (delivery.skipped)
    return html`<p>${t("Version {n} of the script skipped this event, so nothing was sent.", { n })}</p>`;
  const body = delivery.request?.body;
  const sent = attempt.errorCategory !== "TRANSFORM" && body && isJson(body) ? member(body, ["data"]) : null;
  if (sent === null || payload === null)
    return html`<p>${t("Version {n} of the script ran. The request, if one was sent, shows what the script returned.", { n })}</p>`;
  const [before, after] = [lines(payload), lines(sent)];
  if (before === after)
    return html`<p>${t("Version {n} of the script ran and left the payload as it was.", { n })}</p>`;
  return html`<div class="stack tight"><p>${t("Version {n} of the script changed the payload. − is the event, + is what was sent:", { n })}</p>${h(Difference, { before, after })}</div>`;
}
