/** The trial of an event on the routing rules: who would get it, and why others would not. Nothing is sent or kept. */
import { h, html, useState } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { isJson } from "../../shared/json.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Button } from "../../shared/act.js";
import { api } from "../session.js";
import { Verdicts } from "./whynot.js";

/** @param {{draft?: any, type?: string, titled?: boolean}} props `draft`: a further rule, as it would be saved; `type`: of the event, to begin with; `titled`: false in a dialog that has the title */
export function Trial({ draft, type, titled = true }) {
  const [sample, setSample] = useState({
    type: type ?? draft?.eventTypes.find((/** @type {string} */ each) => !each.includes("*")) ?? "",
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
    const rule = draft && {
      ...draft,
      name: draft.name || t("This rule"),
      destinationId: draft.destinationId || null,
    };
    const also = rule ? `,"rule":${JSON.stringify(rule)}` : "";
    try {
      setFound(await api.call("POST", "/routing-rules/preview", { body: `{"event":{${event.join(",")}}${also}}` }));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  const wrong = isJson(sample.payload) ? null : t("This is not JSON yet.");
  return html`<section class=${titled ? "panel" : ""}>${titled && html`<header><h2>${t("Try it with an event")}</h2></header>`}<div class=${titled ? "inside stack" : "stack"}>
    <div class="pair-row">${h(Field, { label: t("Event type"), ...field("type") })}${h(Field, { label: t("Customer"), ...field("customer") })}</div>
    ${h(Field, { label: t("Payload"), ...field("payload"), area: true, wrong })}
    <div class="row">${h(Button, { act: run, disabled: wrong !== null || !sample.type }, t("Try"))}</div>
    ${error && h(Failure, { error })}</div>
    ${found && h(Verdicts, { found: { ...found, rules: [...found.rules].sort((one, two) => Number(two.ruleId === null) - Number(one.ruleId === null)) } })}</section>`;
}
