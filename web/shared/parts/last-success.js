/** The difference between a failed attempt and the destination's last success: in the request and in the answer. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { laidOut } from "../json.js";
import { useResource } from "../resource.js";
import { Skeleton } from "../ui/table.js";
import { Difference } from "../ui/difference.js";
import { Failure } from "../ui/failure.js";
import { Ident } from "../ui/ident.js";
import { Moment } from "../ui/moment.js";
import { api, at } from "../api.js";

/** The headers that differ between any two deliveries. */
const OWN = ["webhook-id", "webhook-timestamp", "webhook-signature", "angarium-delivery-id", "date"];

/** The members of the body that differ between any two events. */
const ENVELOPE = /^ {2}"(id|timestamp)": ".*",\n/gm;

/** @param {string | null | undefined} text */
const lines = (text) => {
  try {
    JSON.parse(text ?? "");
    return laidOut(text ?? "")
      .map(([, part]) => part)
      .join("");
  } catch {
    return text ?? "";
  }
};

/** @param {any} request @param {any} attempt */
function told(request, attempt) {
  const of = (/** @type {Record<string, unknown> | null | undefined} */ headers) =>
    Object.entries(headers ?? {})
      .filter(([name]) => !OWN.includes(name.toLowerCase()))
      .map(([name, value]) => `${name}: ${value}`);
  return [
    `${request?.method ?? ""} ${request?.url ?? ""}`,
    ...of(request?.headers),
    "",
    lines(request?.body).replaceAll(ENVELOPE, ""),
    "",
    `${attempt.responseStatus ?? attempt.errorCategory ?? ""}`,
    ...of(attempt.responseHeaders),
    "",
    lines(attempt.responseBody),
  ].join("\n");
}

/** @param {{delivery: any, attempt: any}} props */
export function LastSuccess({ delivery, attempt }) {
  const found = useResource(
    async (signal) => {
      const wanted = {
        status: "DELIVERED",
        destinationId: delivery.destinationId,
        eventType: delivery.event?.eventType,
        limit: 1,
      };
      const { items } = await api.get("/deliveries", wanted, signal);
      return { other: items[0] ? await api.get(`/deliveries/${items[0].id}`, {}, signal) : null };
    },
    [delivery.id],
  );
  if (found.error) return h(Failure, { error: found.error, retry: found.reload });
  if (!found.data) return h(Skeleton, { rows: 6 });
  const { other } = found.data;
  if (!other) return html`<p class="quiet">${t("No successful delivery of this event type is kept.")}</p>`;
  return html`<div class="stack"><p class="row wrap"><strong>${t("The last success")}</strong> ${h(Ident, { id: other.id, href: at(`/deliveries/${other.id}`) })} ${h(Moment, { at: other.deliveredAt })}</p>
    ${h(Difference, { before: told(other.request, other.attempts.at(-1)), after: told(delivery.request, attempt) })}
    <p class="quiet">${t("+ is this attempt, − the last success.")}</p></div>`;
}
