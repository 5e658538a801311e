/** The dialog of a routing rule: what it takes, and a trial with an event before it is saved. */
import { h, html, useState } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { isJson } from "../../shared/json.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { useNames } from "../../shared/names.js";
import { api, writes } from "../session.js";
import { patterns } from "../../shared/parts/creation.js";
import { Verdicts } from "./whynot.js";

/** @param {{draft: any}} props a rule as it would be saved */
function Trial({ draft }) {
  const [sample, setSample] = useState({
    type: draft.eventTypes[0]?.includes("*") ? "" : (draft.eventTypes[0] ?? ""),
    payload: "{}",
    customer: "",
  });
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const field = (/** @type {keyof typeof sample} */ name) => ({
    value: sample[name],
    change: (/** @type {string} */ value) => setSample({ ...sample, [name]: value }),
  });
  const run = async () => {
    setError(null);
    const event = [
      `"eventType":${JSON.stringify(sample.type)}`,
      `"payload":${sample.payload}`,
      ...(sample.customer ? [`"customerExternalId":${JSON.stringify(sample.customer)}`] : []),
    ];
    const rule = JSON.stringify({
      ...draft,
      name: draft.name || t("This rule"),
      destinationId: draft.destinationId || null,
    });
    try {
      setFound(
        await api.call("POST", "/routing-rules/preview", { body: `{"event":{${event.join(",")}},"rule":${rule}}` }),
      );
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const wrong = isJson(sample.payload) ? null : t("This is not JSON yet.");
  return html`<section class="panel"><header><h2>${t("Try it with an event")}</h2></header><div class="inside stack">
    <div class="pair-row">${h(Field, { label: t("Event type"), ...field("type") })}${h(Field, { label: t("Customer"), ...field("customer") })}</div>
    ${h(Field, { label: t("Payload"), ...field("payload"), area: true, wrong })}
    <div class="row">${h(Button, { act: run, disabled: wrong !== null || !sample.type }, t("Try"))}</div>
    ${error && h(Failure, { error })}</div>
    ${found && h(Verdicts, { found: { ...found, rules: [...found.rules].sort((one, two) => Number(two.ruleId === null) - Number(one.ruleId === null)) } })}</section>`;
}

/** @param {{rule: any, close: () => void}} props `rule`: without an id, a new one */
export function RuleEditor({ rule, close }) {
  const names = useNames();
  const [draft, setDraft] = useState({ ...rule, eventTypes: rule.eventTypes.join(" "), filter: rule.filter ?? "" });
  const [error, setError] = useState(/** @type {any} */ (null));
  const field = (/** @type {string} */ name) => ({
    value: draft[name],
    wrong: error?.details.find((/** @type {any} */ each) => each.path.startsWith(name))?.message ?? null,
    change: (/** @type {string} */ value) => setDraft({ ...draft, [name]: value }),
  });
  const body = {
    name: draft.name,
    destinationId: draft.destinationId,
    eventTypes: patterns(draft.eventTypes),
    filter: draft.filter || null,
    priority: draft.priority,
    enabled: draft.enabled,
  };
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    try {
      if (rule.id) await api.patch(`/routing-rules/${rule.id}`, body);
      else await api.post("/routing-rules", body);
      say(t("Saved. It counts for events from now on."));
      close();
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const remove = async () => {
    const gone = await act(() => api.delete(`/routing-rules/${rule.id}`), t("The rule is deleted."), {
      label: t("Undo"),
      act: () =>
        act(
          () =>
            api.post("/routing-rules", {
              name: rule.name,
              destinationId: rule.destinationId,
              eventTypes: rule.eventTypes,
              filter: rule.filter,
              priority: rule.priority,
              enabled: rule.enabled,
            }),
          t("The rule is back, with a new id."),
        ),
    });
    if (gone) close();
  };
  const known = /** @type {[string, string][]} */ (
    Object.entries(names).sort(([, one], [, two]) => one.localeCompare(two))
  );
  const own =
    known.some(([id]) => id === draft.destinationId) || !draft.destinationId
      ? []
      : [/** @type {[string, string]} */ ([draft.destinationId, draft.destinationId])];
  return h(
    Dialog,
    { title: rule.id ? rule.name : t("New rule"), close, wide: true },
    html`<div class="halves">
    <form class="form" onSubmit=${save}><fieldset class="form" disabled=${!writes.value}>
      ${h(Field, { label: t("Name"), ...field("name"), required: true, autofocus: !rule.id })}
      ${h(Field, { label: t("Destination"), ...field("destinationId"), required: true, options: [["", t("Choose one")], ...own, ...known] })}
      ${h(Field, { label: t("Event types"), ...field("eventTypes"), required: true, hint: t("Such as order.* invoice.paid; * is every type.") })}
      ${h(Field, { label: t("Filter"), ...field("filter"), area: true, hint: t("CEL over event, such as event.payload.total > 1000. Empty: every event of these types.") })}
      ${h(Field, {
        label: t("Priority"),
        ...field("priority"),
        options: [
          ["STANDARD", t("Standard")],
          ["HIGH", t("High")],
          ["CRITICAL", t("Critical")],
        ],
      })}
      <label class="check"><input type="checkbox" checked=${draft.enabled} onChange=${() => setDraft({ ...draft, enabled: !draft.enabled })} />${t("On")}</label>
      ${error && h(Failure, { error })}
      ${writes.value && html`<div class="row"><button class="button primary">${t("Save")}</button>${rule.id && h(Button, { act: remove, kind: "danger" }, t("Delete"))}</div>`}
    </fieldset></form>
    ${h(Trial, { draft: body })}
  </div>`,
  );
}
