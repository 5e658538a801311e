/** The message that a replay has begun, with a link to its deliveries. */
import { at, whole } from "../api.js";
import { t } from "../i18n.js";
import { say } from "../ui/toasts.js";

/** @param {{id: string}} job The portal has no page of replays: there the way leads to the job's deliveries. */
export function tellBegun({ id }) {
  const action = whole
    ? { label: t("Watch it"), href: at(`/replays/${id}`) }
    : { label: t("See its deliveries"), href: at(`/deliveries?replayJobId=${id}`) };
  say(t("The replay has begun."), { action });
}
