/** The dialog of a routing rule: its conditions, and a trial with an event before it is saved. */
import { h, html, useState } from "../../vendor/preact.js";
import { words } from "../../shared/format.js";
import { t } from "../../shared/i18n.js";
import { Dialog } from "../../shared/ui/dialog.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Moment } from "../../shared/ui/moment.js";
import { say } from "../../shared/ui/toasts.js";
import { act, Button } from "../../shared/act.js";
import { useNames } from "../../shared/names.js";
import { api, writes } from "../session.js";
import { patterns } from "../../shared/parts/type-choice.js";
import { PRIORITIES } from "../../shared/words.js";
import { Trial } from "./rule-trial.js";

/** Return the titles of the fields, in their order. @returns {[string, string][]} */
const fields = () => [
  ["name", t("Name")],
  ["destinationId", t("Destination")],
  ["eventTypes", t("Event types")],
  ["filter", t("Filter")],
  ["priority", t("Priority")],
  ["enabled", t("On")],
];

/** Return the names of the fields that differ. @param {any} one @param {any} two */
const different = (one, two) =>
  fields()
    .map(([name]) => name)
    .filter((name) => JSON.stringify(one[name]) !== JSON.stringify(two[name]));

/** A rule as the form holds it. @param {any} rule */
const written = (rule) => ({ ...rule, eventTypes: rule.eventTypes.join(" "), filter: rule.filter ?? "" });

/** The fields that others changed while the rule was open. @param {{at: string, theirs: string[], both: string[]}} props `both`: those of them that were changed here too */
function Meanwhile({ at: when, theirs, both }) {
  const titles = (/** @type {string[]} */ names) =>
    fields()
      .filter(([name]) => names.includes(name))
      .map(([, word]) => word)
      .join(", ");
  return html`<div class="notice tone-warn" role="alert"><div><strong>${t("Somebody changed this rule while it was open here.")}</strong> ${h(Moment, { at: when, relative: true })}</div>
    <div>${t("They changed: {names}.", { names: titles(theirs) })} ${
      both.length > 0
        ? t("You changed this too: {names}. Save again to replace their change with yours.", { names: titles(both) })
        : t("The form now has their change. Save again to add yours.")
    }</div></div>`;
}

/** @param {{rule: any, close: () => void}} props `rule`: without an id, a new one */
export function RuleEditor({ rule: opened, close }) {
  const names = useNames();
  const [rule, setRule] = useState(opened);
  const [meanwhile, setMeanwhile] = useState(/** @type {any} */ (null));
  const [draft, setDraft] = useState(written(rule));
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
  /** Send the fields that were changed here. If others changed the rule, show their change instead. Returns true if it was sent. */
  const change = async () => {
    const mine = different(body, rule);
    const present = await api.get(`/routing-rules/${rule.id}`);
    const theirs = different(present, rule);
    if (theirs.length) {
      const ours = Object.fromEntries(mine.map((name) => [name, draft[name]]));
      setDraft({ ...written(present), ...ours });
      setRule(present);
      const both = theirs.filter((name) => mine.includes(name));
      setMeanwhile({ at: present.updatedAt, theirs, both });
      return false;
    }
    if (mine.length) {
      const sent = Object.fromEntries(Object.entries(body).filter(([name]) => mine.includes(name)));
      await api.patch(`/routing-rules/${rule.id}`, sent);
    }
    return true;
  };
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError(null);
    setMeanwhile(null);
    try {
      if (!rule.id) await api.post("/routing-rules", body);
      else if (!(await change())) return;
      say(t("Saved. It applies to new events."));
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
      ${h(Field, { label: t("Event types"), ...field("eventTypes"), required: true, hint: t("Such as order.* invoice.paid, or * for every type.") })}
      ${h(Field, { label: t("Filter"), ...field("filter"), area: true, hint: t("A CEL expression, such as event.payload.total > 1000. Empty: every event of these types.") })}
      ${h(Field, {
        label: t("Priority"),
        ...field("priority"),
        options: PRIORITIES.map((each) => /** @type {[string, string]} */ ([each, words(each)])),
      })}
      <label class="check"><input type="checkbox" checked=${draft.enabled} onChange=${() => setDraft({ ...draft, enabled: !draft.enabled })} />${t("On")}</label>
      ${meanwhile && h(Meanwhile, meanwhile)}
      ${error && h(Failure, { error })}
      ${writes.value && html`<div class="row"><button class="button primary">${t("Save")}</button>${rule.id && h(Button, { act: remove, kind: "danger" }, t("Delete"))}</div>`}
    </fieldset></form>
    ${h(Trial, { draft: body })}
  </div>`,
  );
}
