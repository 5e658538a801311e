/** A customer's name, and the limits of its sessions with their use. */
import { h, html, useState } from "../../../vendor/preact.js";
import { number, t } from "../../../shared/i18n.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Field } from "../../../shared/ui/field.js";
import { writes } from "../../session.js";
import { useChange } from "./changing.js";

/** @returns {[string, string][]} */
const limits = () => [
  ["destinations", t("Destinations")],
  ["rules", t("Routing rules")],
  ["transforms", t("Transform scripts")],
  ["requestsPerMinute", t("Requests a minute")],
];

/** @param {{customer: any, changed: (customer: any) => void}} props */
export function Quotas({ customer, changed }) {
  const [draft, setDraft] = useState(
    /** @type {Record<string, string>} */ ({
      name: customer.name ?? "",
      ...Object.fromEntries(limits().map(([name]) => [name, String(customer.quotas[name] ?? "")])),
    }),
  );
  const [change, error] = useChange(customer, changed);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const quotas = Object.fromEntries(limits().map(([name]) => [name, draft[name] ? Number(draft[name]) : null]));
    return change({ name: draft.name || null, quotas });
  };
  return html`<form class="form inside" onSubmit=${save}><fieldset class="form" disabled=${!writes.value}>
    ${h(Field, { label: t("Name"), value: draft.name, change: (value) => setDraft({ ...draft, name: value }) })}
    ${limits().map(
      ([name, title]) => html`<div class="limit" key=${name}>
      ${h(Field, { label: title, kind: "number", min: 0, value: draft[name], change: (value) => setDraft({ ...draft, [name]: value }), placeholder: String(customer.limits[name]) })}
      ${name in customer.used && html`<span class="quiet">${t("{used} of {limit} used", { used: number(customer.used[name]), limit: number(customer.limits[name]) })}</span>`}</div>`,
    )}
    <p class="quiet">${t("Empty: the limit of the plan.")}</p>
    ${error && h(Failure, { error })}
    ${writes.value && html`<div class="row"><button class="button primary">${t("Save")}</button></div>`}</fieldset></form>`;
}
