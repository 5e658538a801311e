/** Actions on the service. The reader gets a message about success, or the reason for a refusal. */
import { html, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { say } from "./ui/toasts.js";

/** Run an action and show a message. Returns its answer, or null if it was refused.
 * @template T @param {() => Promise<T>} work @param {string} [done]
 * @param {import("./ui/toasts.js").Toast["action"]} [action] such as a way to undo it
 * @returns {Promise<T | null>}
 */
export async function act(work, done, action) {
  try {
    const answer = await work();
    if (done) say(done, { action });
    return answer ?? /** @type {any} */ (true);
  } catch (error) {
    const { status, message, requestId } = /** @type {import("./api.js").ApiError} */ (error);
    if (status === undefined) throw error;
    const text = status === 0 ? t("The server does not answer.") : message || t("Something went wrong.");
    say(requestId ? `${text} (${t("Request")} ${requestId})` : text, { tone: "bad" });
    return null;
  }
}

/** A button that can be pressed once at a time. @param {{act: () => Promise<unknown>, kind?: string, keys?: string, disabled?: boolean, children?: any}} props `keys`: the key that presses it */
export function Button({ act: work, kind = "", keys, disabled, children }) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await work();
    setBusy(false);
  };
  return html`<button type="button" class=${`button ${kind}`} data-key=${keys} disabled=${busy || disabled} onClick=${press}>${children}</button>`;
}
