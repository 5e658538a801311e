/** The message that a replay has begun, with a link to it. */
import { at } from "../api.js";
import { t } from "../i18n.js";
import { say } from "../ui/toasts.js";

/** @param {{id: string}} job */
export function tellBegun({ id }) {
  say(t("The replay has begun."), { action: { label: t("Watch it"), href: at(`/replays/${id}`) } });
}
