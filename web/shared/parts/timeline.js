/** The attempts of a delivery to scale: the start and the duration of each, and the waits between them. */
import { h, html, useState } from "../../vendor/preact.js";
import { at } from "../api.js";
import { duration, words } from "../format.js";
import { t } from "../i18n.js";
import { lazily } from "../resource.js";
import { plotWidth } from "../ui/chart.js";
import { Moment, now, Until } from "../ui/moment.js";
import { Payload } from "../ui/payload.js";
import { State } from "../ui/state.js";

const LastSuccess = lazily(() => import("./last-success.js").then((found) => found.LastSuccess));

/** A time line from the delivery's start to its next attempt. @param {{delivery: any}} props */
function Scale({ delivery }) {
  const width = plotWidth();
  const begin = new Date(delivery.createdAt).getTime();
  const waits = ["PENDING", "RETRYING"].includes(delivery.status) && delivery.nextAttemptAt;
  const ends = delivery.attempts.map((/** @type {any} */ each) => new Date(each.startedAt).getTime() + each.durationMs);
  const end = Math.max(begin + 1, ...ends, ...(waits ? [new Date(delivery.nextAttemptAt).getTime()] : []));
  const x = (/** @type {number} */ at) => 6 + ((at - begin) / (end - begin)) * (width - 12);
  const present = Math.min(now.value, end);
  return html`<svg class="scale" viewBox=${`0 0 ${width} 40`} role="img" aria-label=${t("{n} attempts within {time}", { n: delivery.attempts.length, time: duration(end - begin) })}>
    <path d=${`M6 16H${width - 6}`} stroke="var(--line)" stroke-width="2" />
    ${waits && html`<path d=${`M6 16H${x(present)}`} stroke="var(--info)" stroke-width="2" /><circle cx=${x(end)} cy="16" r="5" fill="var(--surface)" stroke="var(--info)" stroke-width="1.5" stroke-dasharray="2 2" />`}
    ${delivery.attempts.map((/** @type {any} */ each) => {
      const at = new Date(each.startedAt).getTime();
      const place = x(at);
      const wide = Math.max(0, x(at + each.durationMs) - place);
      const colour = each.success ? "var(--good)" : "var(--bad)";
      return html`<g><rect x=${place} y="13" width=${wide} height="6" fill=${colour} opacity="0.4" />
        ${each.success ? html`<circle cx=${place} cy="16" r="5" fill=${colour} />` : html`<path d=${`M${place - 4} 12l8 8m0-8l-8 8`} stroke=${colour} stroke-width="2" />`}
        <title>${t("Attempt {n}", { n: each.number })}</title></g>`;
    })}
    <text x="6" y="37">0</text><text x=${width - 6} y="37" text-anchor="end">${duration(end - begin)}</text>
  </svg>`;
}

/** @param {{headers: Record<string, string> | null | undefined}} props */
export function Headers({ headers }) {
  const rows = Object.entries(headers ?? {});
  if (!rows.length) return html`<p class="quiet">${t("No headers.")}</p>`;
  return html`<dl class="facts small">${rows.map(([name, value]) => html`<dt class="mono">${name}</dt><dd class="mono">${String(value)}</dd>`)}</dl>`;
}

/** The receiver's answer, and the request. @param {{delivery: any, attempt: any, last: boolean}} props `last`: the delivery's request is that of this attempt */
function Exchange({ delivery, attempt, last }) {
  const [compared, compare] = useState(false);
  const { request } = delivery;
  return html`<div class="halves exchange">
    <div class="stack"><h3>${t("Answer")} ${attempt.responseStatus ?? ""}</h3>
      ${attempt.errorMessage && html`<p class=${attempt.success ? "" : "bad"}>${attempt.errorMessage}</p>`}
      ${h(Headers, { headers: attempt.responseHeaders })}
      ${h(Payload, { text: attempt.responseBody, title: attempt.responseTruncated ? t("Cut off at 16 KiB.") : "" })}
      ${attempt.logs && h(Payload, { text: attempt.logs, title: t("Log of the script") })}</div>
    <div class="stack"><h3>${t("Request")}</h3>
      ${
        last && request
          ? html`<p class="mono">${request.method} ${request.url}</p>${h(Headers, { headers: request.headers })}
        <p class="row wrap quiet"><span>${t("The header webhook-signature is not kept.")}</span><a href=${at(`/signatures?delivery=${delivery.id}`)}>${t("Check signature")}</a></p>
        ${request.note && html`<p class="quiet">${request.note}</p>`}${h(Payload, { text: request.body })}`
          : html`<p class="quiet">${t("Every attempt sends the same body. The last attempt shows the request.")}</p>`
      }</div>
    ${
      last &&
      !attempt.success &&
      html`<div class="stack whole">${compared ? h(LastSuccess, { delivery, attempt }) : html`<div><button type="button" class="button" onClick=${() => compare(true)}>${t("Compare with the last success")}</button></div>`}</div>`
    }
  </div>`;
}

/** @param {{delivery: any}} props */
export function Timeline({ delivery }) {
  const [open, setOpen] = useState(/** @type {number | null} */ (delivery.attempts.at(-1)?.number ?? null));
  const { attempts } = delivery;
  const waits = ["PENDING", "RETRYING"].includes(delivery.status) && delivery.nextAttemptAt;
  const last = attempts.at(-1);
  return html`<div class="inside">${h(Scale, { delivery })}</div>
    <ol class="attempts">${attempts.map((/** @type {any} */ each, /** @type {number} */ index) => {
      const before = index ? attempts[index - 1] : null;
      const gap = before
        ? new Date(each.startedAt).getTime() - new Date(before.startedAt).getTime() - before.durationMs
        : 0;
      const shown = open === each.number;
      return html`<li key=${each.number}>${gap > 0 && html`<p class="gap">${t("{time} later", { time: duration(gap) })}</p>`}
        <button type="button" class="attempt" aria-expanded=${shown} onClick=${() => setOpen(shown ? null : each.number)}>
          <span>${t("Attempt {n}", { n: each.number })}</span>
          ${h(State, { name: each.success ? "DELIVERED" : "FAILED", word: each.responseStatus ? String(each.responseStatus) : each.success ? t("Delivered") : words(each.errorCategory) })}
          <span class="cut quiet">${each.success ? "" : (each.errorMessage ?? "")}</span>
          <span class="number">${duration(each.durationMs)}</span>
          <span class="number quiet">${h(Moment, { at: each.startedAt })}</span>
        </button>
        ${shown && h(Exchange, { delivery, attempt: each, last: each === last })}</li>`;
    })}</ol>
    ${waits && html`<p class="gap">${t("Next attempt in")} ${h(Until, { until: delivery.nextAttemptAt })}</p>`}`;
}
