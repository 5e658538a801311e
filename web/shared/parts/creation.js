/** The dialog that creates a destination: its URL or a template, and its event types. */
import { h, html, useState } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { useResource } from "../resource.js";
import { go } from "../router.js";
import { Dialog } from "../ui/dialog.js";
import { Failure } from "../ui/failure.js";
import { Field } from "../ui/field.js";
import { Copy } from "../ui/ident.js";
import { forgetNames } from "../names.js";
import { api, at, may, whole } from "../api.js";
import { patterns, TypeChoice } from "./type-choice.js";

/** The secret, which is shown only once. @param {{made: any, close: () => void}} props */
function Made({ made, close }) {
  return html`<div class="stack">
    <p>${t("{name} is ready.", { name: made.name })}</p>
    ${
      made.secret &&
      html`<div class="field"><span class="label">${t("Signing secret")}</span>
      <div class="command"><code tabindex="0">${made.secret}</code>${h(Copy, { text: made.secret, label: t("Copy the secret") })}</div>
      <span class="hint">${t("Give the secret to the receiver now: it is not shown again.")}</span></div>`
    }
    <div class="row"><button type="button" class="button primary" onClick=${() => {
      close();
      go(at(`/destinations/${made.id}`));
    }}>${t("Open it")}</button></div>
  </div>`;
}

/** @param {{close: () => void}} props */
export function Creation({ close }) {
  const [template, setTemplate] = useState("");
  const [draft, setDraft] = useState({ name: "", url: "", types: "*", customer: "" });
  const [config, setConfig] = useState(/** @type {Record<string, string>} */ ({}));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const catalog = useResource((signal) => api.get("/destination-templates", { limit: 500 }, signal), []);
  const templates = catalog.data?.items ?? [];
  const chosen = templates.find((/** @type {any} */ each) => each.id === template);
  const wrong = (/** @type {string} */ path) =>
    error?.details.find((/** @type {any} */ each) => each.path === path)?.message ?? null;
  const field = (/** @type {keyof typeof draft} */ name) => ({
    value: draft[name],
    change: (/** @type {string} */ value) => setDraft({ ...draft, [name]: value }),
  });
  const make = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const filled = Object.fromEntries(Object.entries(config).filter(([, value]) => value));
      const body = chosen
        ? { templateId: template, name: draft.name, config: filled }
        : { name: draft.name, url: draft.url };
      const destination = await api.post("/destinations", {
        ...body,
        ...(draft.customer ? { customerExternalId: draft.customer } : {}),
      });
      forgetNames();
      const eventTypes = patterns(draft.types);
      if (eventTypes.length && may("manageRules"))
        await api.post("/routing-rules", { name: draft.name, destinationId: destination.id, eventTypes });
      setMade(destination);
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
    setBusy(false);
  };
  if (made) return h(Dialog, { title: t("New destination"), close }, h(Made, { made, close }));
  return h(
    Dialog,
    { title: t("New destination"), close },
    html`<form class="form" onSubmit=${make}>
    ${h(Field, { label: t("Kind"), value: template, change: setTemplate, options: [["", t("Webhook: an address of your own")], ...templates.map((/** @type {any} */ each) => [each.id, each.name])] })}
    ${h(Field, { label: t("Name"), ...field("name"), required: true, autofocus: true, wrong: wrong("name") })}
    ${
      chosen
        ? Object.entries(chosen.configSchema.properties ?? {}).map(([name, /** @type {any} */ schema]) =>
            h(Field, {
              key: name,
              label: schema.title ?? name,
              hint: schema.description,
              value: config[name] ?? "",
              required: (chosen.configSchema.required ?? []).includes(name),
              change: (value) => setConfig({ ...config, [name]: value }),
              wrong: wrong(`config.${name}`),
              ...(schema.enum ? { options: schema.enum.map((/** @type {string} */ each) => [each, each]) } : {}),
            }),
          )
        : h(Field, {
            label: t("Address"),
            kind: "url",
            ...field("url"),
            required: true,
            placeholder: "https://example.com/hooks",
            wrong: wrong("url"),
          })
    }
    ${may("manageRules") && h(TypeChoice, { label: t("Event types"), ...field("types"), wrong: wrong("eventTypes"), hint: t("Such as order.* invoice.paid, or * for every type. This also creates a routing rule.") })}
    ${whole && h(Field, { label: t("Customer"), ...field("customer"), hint: t("Empty: events of every customer.") })}
    ${error && h(Failure, { error })}
    <div class="row"><button class="button primary" disabled=${busy}>${t("Create")}</button>
      <button type="button" class="button" onClick=${close}>${t("Cancel")}</button></div>
  </form>`,
  );
}
