/** What a reader does to the service: it is told when it is done, and why when it is refused. */
import { html, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { say } from "./ui/toasts.js";

/**
 * Do something and tell of it. Returns what it answered, or null where it was refused.
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
    const { status, message } = /** @type {import("./api.js").ApiError} */ (error);
    if (status === undefined) throw error;
    say(status === 0 ? t("The server does not answer.") : message || t("Something went wrong."), { tone: "bad" });
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
