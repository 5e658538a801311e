/** The dialog that sends an event. The payload is sent exactly as entered. */
import { h, html, useState } from "../../vendor/preact.js";
import { t, tn } from "../../shared/i18n.js";
import { isJson } from "../../shared/json.js";
import { go } from "../../shared/router.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { say } from "../../shared/ui/toasts.js";
import { api, at } from "../session.js";

/** @param {{close: () => void, type?: string, payload?: string, customer?: string}} props */
export function Sending({ close, type = "", payload = "{\n  \n}", customer = "" }) {
  const [draft, setDraft] = useState({ type, payload, customer });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const field = (/** @type {keyof typeof draft} */ name) => ({
    value: draft[name],
    change: (/** @type {string} */ value) => setDraft({ ...draft, [name]: value }),
  });
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const parts = [`"eventType":${JSON.stringify(draft.type)}`, `"payload":${draft.payload}`];
    if (draft.customer) parts.push(`"customerExternalId":${JSON.stringify(draft.customer)}`);
    try {
      const answer = await api.call("POST", "/events", { body: `{${parts.join(",")}}` });
      say(tn("Accepted: {n} delivery", "Accepted: {n} deliveries", answer.deliveries));
      close();
      go(at(`/events/${answer.id}`));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
      setBusy(false);
    }
  };
  const wrong = isJson(draft.payload) ? null : t("This is not JSON yet.");
  return h(
    Dialog,
    { title: t("Send an event"), close },
    html`<form class="form" onSubmit=${send}>
    <div class="pair">${h(Field, { label: t("Event type"), ...field("type"), required: true, autofocus: true, placeholder: "order.created" })}
      ${h(Field, { label: t("Customer"), ...field("customer"), hint: t("Empty: no customer.") })}</div>
    ${h(Field, { label: t("Payload"), ...field("payload"), area: true, wrong })}
    ${error && h(Failure, { error })}
    <div class="row"><button class="button primary" disabled=${busy || wrong !== null}>${t("Send")}</button>
      <button type="button" class="button" onClick=${close}>${t("Cancel")}</button></div>
  </form>`,
  );
}
