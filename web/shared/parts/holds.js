/** What holds a destination back, in words, with its end. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { now, Until } from "../ui/moment.js";

/** @returns {Record<string, string>} */
const reasons = () => ({
  RETRY_AFTER: t("Its receiver asked to wait"),
  CIRCUIT: t("Circuit open, next probe"),
  PROBING: t("Circuit open, a probe is under way"),
  PROBES: t("Circuit open, the next delivery probes it"),
  RATE: t("Rate limit"),
  DISABLED: t("Switched off"),
  STORE: t("The database is away"),
});

/** @param {{hold: {reason: string, until: string | null} | null}} props */
export function Hold({ hold }) {
  if (!hold) return null;
  const until = hold.until && new Date(hold.until).getTime() > now.value ? hold.until : null;
  const reason = hold.reason === "CIRCUIT" && !until ? (hold.until ? "PROBES" : "PROBING") : hold.reason;
  const words = reasons()[reason] ?? reason;
  return html`<span class="tag tone-warn" title=${words}>${words}${until && html` ${t("in")} ${h(Until, { until })}`}</span>`;
}
