/** The holds of a destination in words, with their ends. */
import { h, html } from "../../vendor/preact.js";
import { duration, exact, span } from "../format.js";
import { number, t } from "../i18n.js";
import { late } from "../ui/state.js";
import { now, Until } from "../ui/moment.js";

/** @returns {Record<string, string>} */
const reasons = () => ({
  RETRY_AFTER: t("Receiver asked for a pause, next attempt"),
  CIRCUIT: t("Circuit open, next probe"),
  PROBING: t("Circuit open, a probe is under way"),
  PROBES: t("Circuit open, the next delivery is the probe"),
  RATE: t("Rate limit"),
  DISABLED: t("Switched off"),
  STORE: t("The database is unreachable"),
});

/** The time for which a destination has been failing. @param {{health: any}} props */
export function Since({ health: { state, failingSince: at } }) {
  if (!at || state === "DISABLED") return null;
  const time = span(Math.max(0, (now.value - new Date(at).getTime()) / 1000));
  const words = state === "FAILING" ? t("for {time}", { time }) : t("failing for {time}", { time });
  return html` <time class="quiet" datetime=${at} title=${`${t("Failing since")} ${exact(at)}`}>${words}</time>`;
}

/** The notice that a destination is late, with the wait of its oldest delivery. @param {{health: any}} props */
export function Late({ health }) {
  if (!late(health)) return null;
  const { oldestPendingSeconds, suggestedConcurrency, effectiveConcurrency } = health.queue;
  const time = duration(oldestPendingSeconds * 1000);
  const words =
    (suggestedConcurrency ?? 0) > effectiveConcurrency
      ? t("Late by {time}: needs concurrency {needed}, has {has}", {
          time,
          needed: number(suggestedConcurrency),
          has: number(effectiveConcurrency),
        })
      : t("Late: the oldest has waited {time}", { time });
  return html`<span class="tag tone-warn" title=${words}>${words}</span>`;
}

/** @param {{hold: {reason: string, until: string | null} | null}} props */
export function Hold({ hold }) {
  if (!hold) return null;
  const until = hold.until && new Date(hold.until).getTime() > now.value ? hold.until : null;
  const reason = hold.reason === "CIRCUIT" && !until ? (hold.until ? "PROBES" : "PROBING") : hold.reason;
  const words = reasons()[reason] ?? reason;
  return html`<span class="tag tone-warn" title=${words}>${words}${until && html` ${t("in")} ${h(Until, { until })}`}</span>`;
}
