/** The permissions of one customer in its portal: those of all customers, or its own. */
import { h, html, useState } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { Skeleton } from "../../../shared/ui/table.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Field } from "../../../shared/ui/field.js";
import { api, at, writes } from "../../session.js";
import { abilities } from "../abilities.js";
import { useChange } from "./changing.js";

const WORDS = new Map(
  /** @type {[boolean | null, string][]} */ ([
    [null, ""],
    [true, "yes"],
    [false, "no"],
  ]),
);

/** @param {{customer: any, all: Record<string, boolean>, changed: (customer: any) => void}} props `all`: the workspace's permissions for customers */
function Form({ customer, all, changed }) {
  const [own, setOwn] = useState(/** @type {Record<string, boolean | null>} */ (customer.permissions));
  const [change, error] = useChange(customer, changed);
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    return change({ permissions: own });
  };
  const options = (/** @type {string} */ name) =>
    /** @type {[string, string][]} */ ([
      ["", all[name] ? t("Default: allowed") : t("Default: not allowed")],
      ["yes", t("Allowed")],
      ["no", t("Not allowed")],
    ]);
  const set = (/** @type {string} */ name, /** @type {string} */ word) =>
    setOwn({ ...own, [name]: [...WORDS].find(([, each]) => each === word)?.[0] ?? null });
  return html`<form class="form inside" onSubmit=${save}><fieldset class="form" disabled=${!writes.value}>
    <div class="abilities">${Object.entries(abilities()).map(([name, label]) => h(Field, { key: name, label, value: WORDS.get(own[name]) ?? "", options: options(name), change: (word) => set(name, word) }))}</div>
    ${error && h(Failure, { error })}
    ${writes.value && html`<div class="row"><button class="button primary">${t("Save the permissions")}</button></div>`}</fieldset></form>`;
}

/** @param {{customer: any, changed: (customer: any) => void}} props */
export function Permissions({ customer, changed }) {
  const found = useResource((signal) => api.get("/workspace", {}, signal), []);
  return html`<section class="panel"><header><h2>${t("What this customer may do")}</h2><a href=${at("/settings?tab=portal")}>${t("Default for all customers")}</a></header>
    ${
      found.data
        ? h(Form, { customer, all: found.data.customerMay, changed })
        : found.error
          ? h(Failure, { error: found.error, retry: found.reload })
          : h(Skeleton, { rows: 8 })
    }</section>`;
}
