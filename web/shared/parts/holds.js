/** What holds a destination back, in words, with its end. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { now, Until } from "../ui/moment.js";

/** @returns {Record<string, string>} */
const reasons = () => ({
  RETRY_AFTER: t("Its receiver asked to wait"),
  CIRCUIT: t("Circuit open, next probe"),
  RATE: t("Rate limit"),
  DISABLED: t("Switched off"),
  STORE: t("The database is away"),
});

/** @param {{hold: {reason: string, until: string | null} | null}} props */
export function Hold({ hold }) {
  if (!hold) return null;
  const until = hold.until && new Date(hold.until).getTime() > now.value ? hold.until : null;
  return html`<span class="tag tone-warn" title=${reasons()[hold.reason] ?? hold.reason}>${reasons()[hold.reason] ?? hold.reason}${until && html` ${t("in")} ${h(Until, { until })}`}</span>`;
}
