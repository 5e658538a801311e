/** The login: a key is exchanged for a session and not stored. After the end of a session it covers the page, which stays. */
import { h, html, useState } from "../vendor/preact.js";
import { t } from "../shared/i18n.js";
import { Shell } from "../shared/ui/command.js";
import { Field } from "../shared/ui/field.js";
import { ended, login } from "./session.js";

/** @param {any} error */
function reason(error) {
  if (error.code === "unreachable") return t("The server does not answer. Is it running?");
  if (error.status === 401) return t("This key is not known, has expired, or was revoked.");
  if (error.status === 403) return t("This key cannot open the console: it needs the scope read or manage.");
  return error.message;
}

/** @param {{used?: boolean}} props `used`: the login link was no longer valid */
export function Login({ used }) {
  const [key, setKey] = useState("");
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setWrong("");
    try {
      await login({ key: key.trim() });
    } catch (error) {
      setWrong(reason(error));
    }
    setBusy(false);
  };
  return html`<div class="login" role=${ended.value ? "dialog" : "main"} aria-modal=${ended.value ? "true" : null} aria-label=${t("Sign in")}>
    <form class="card" onSubmit=${enter}>
      <h1>${ended.value ? t("The session has ended") : t("Sign in to Angarium")}</h1>
      ${used && html`<p class="notice tone-warn" role="alert">${t("This login link was used before, or is older than 10 minutes. Print another:")}</p>`}
      ${h(Field, { label: t("API key"), kind: "password", value: key, change: setKey, wrong, autofocus: true, placeholder: "ang_…", hint: t("The key is exchanged for a session of 12 hours and is not stored.") })}
      <button class="button primary" disabled=${busy || !key.trim()}>${busy ? t("Signing in…") : t("Sign in")}</button>
      <div class="stack" style=${{ gap: "8px" }}><p class="quiet">${t("Or run this on the server's machine, to print a link that signs you in:")}</p>
      ${h(Shell, { text: "angarium console" })}</div>
    </form>
  </div>`;
}
