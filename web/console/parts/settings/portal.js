/** The customers' portal: the origins that can embed it, its brand, and the permissions of customers. */
import { h, html, useState } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { Skeleton } from "../../../shared/ui/table.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Field } from "../../../shared/ui/field.js";
import { say } from "../../../shared/ui/toasts.js";
import { api, writes } from "../../session.js";
import { abilities } from "../abilities.js";
import { Preview } from "./preview.js";

/** @param {{workspace: any, changed: (workspace: any) => void}} props */
function Form({ workspace, changed }) {
  const { branding } = workspace;
  const [draft, setDraft] = useState({
    name: branding.name ?? "",
    logoUrl: branding.logoUrl ?? "",
    primary: branding.colors.primary ?? "",
    supportUrl: branding.supportUrl ?? "",
    origins: workspace.allowedOrigins.join("\n"),
    returnUrl: workspace.returnUrl ?? "",
  });
  const [may, setMay] = useState({ ...workspace.customerMay });
  const [error, setError] = useState(/** @type {any} */ (null));
  const field = (/** @type {keyof typeof draft} */ name, /** @type {string} */ path) => ({
    value: draft[name],
    wrong: error?.details.find((/** @type {any} */ each) => each.path.startsWith(path))?.message ?? null,
    change: (/** @type {string} */ value) => setDraft({ ...draft, [name]: value }),
  });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    try {
      changed(
        await api.patch("/workspace", {
          branding: {
            name: draft.name || null,
            logoUrl: draft.logoUrl || null,
            supportUrl: draft.supportUrl || null,
            colors: { primary: draft.primary || null },
          },
          returnUrl: draft.returnUrl || null,
          allowedOrigins: draft.origins.split(/\s+/).filter(Boolean),
          customerMay: may,
        }),
      );
      say(t("Saved."));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  return html`<form onSubmit=${save}><fieldset class="stack" disabled=${!writes.value}><div class="halves">
    <section class="panel"><header><h2>${t("Brand and embedding")}</h2></header><div class="form inside">
      ${h(Field, { label: t("Name"), ...field("name", "branding.name") })}
      ${h(Field, { label: t("Address of the logo"), kind: "url", ...field("logoUrl", "branding.logoUrl"), placeholder: "https://" })}
      ${h(Field, { label: t("Colour"), ...field("primary", "branding.colors"), placeholder: "#3346b8" })}
      ${h(Preview, { name: draft.name, primary: draft.primary })}
      ${h(Field, { label: t("Address for help"), kind: "url", ...field("supportUrl", "branding.supportUrl"), placeholder: "https://" })}
      ${h(Field, { label: t("Address of the customer's account"), kind: "url", ...field("returnUrl", "returnUrl"), placeholder: "https://", hint: t("The portal's link back leads here, also after a session has ended.") })}
      ${h(Field, { label: t("Pages that may embed the portal"), area: true, ...field("origins", "allowedOrigins"), hint: t("One origin per line, such as https://app.example.com") })}</div></section>
    <section class="panel"><header><h2>${t("What customers may do")}</h2></header><div class="inside checks">
      ${Object.entries(abilities()).map(([name, title]) => html`<label class="check" key=${name}><input type="checkbox" checked=${may[name]} onChange=${() => setMay({ ...may, [name]: !may[name] })} />${title}</label>`)}</div></section></div>
    ${error && h(Failure, { error })}
    ${writes.value && html`<div class="row"><button class="button primary">${t("Save")}</button></div>`}</fieldset></form>`;
}

export function Portal() {
  const found = useResource((signal) => api.get("/workspace", {}, signal), []);
  if (!found.data)
    return found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 12 });
  return h(Form, { workspace: found.data, changed: (next) => found.set(() => next) });
}
