/** An event type: its schema and an example; actions to copy it, to subscribe an endpoint, and to send it the example. */
import { h, html, useState } from "../../vendor/preact.js";
import { act, Button } from "../../shared/act.js";
import { api, at, may } from "../../shared/api.js";
import { Head } from "../../shared/head.js";
import { t } from "../../shared/i18n.js";
import { member } from "../../shared/json.js";
import { usePages, useResource } from "../../shared/resource.js";
import { Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { Field } from "../../shared/ui/field.js";
import { Payload } from "../../shared/ui/payload.js";
import { State } from "../../shared/ui/state.js";
import { subscribe } from "../subscriptions.js";

/** Subscribe an endpoint, and send it the example. @param {{eventType: string, example: string | null}} props */
function Use({ eventType, example }) {
  const found = usePages(api, "/destinations", { status: "ACTIVE" });
  const [chosen, setChosen] = useState("");
  const [result, setResult] = useState(/** @type {any} */ (null));
  const known = found.items ?? [];
  const destination = known.find((/** @type {any} */ each) => each.id === chosen) ?? known[0];
  if (found.error) return h(Failure, { error: found.error, retry: found.reload });
  if (!destination) return found.items && html`<p class="quiet">${t("Add an endpoint first.")}</p>`;
  const attempt = async () => {
    const body = `{"eventType":${JSON.stringify(eventType)}${example ? `,"payload":${example}` : ""}}`;
    setResult(await act(() => api.call("POST", `/destinations/${destination.id}/test`, { body })));
  };
  return html`<div class="stack">
    ${h(Field, { label: t("Destination"), value: destination.id, change: setChosen, options: known.map((/** @type {any} */ each) => [each.id, each.name]) })}
    <div class="row wrap">${may("manageRules") && h(Button, { act: () => subscribe(destination, [eventType]), kind: "primary" }, t("Subscribe"))}
      ${may("testDestinations") && h(Button, { act: attempt }, t("Send the example"))}</div>
    ${result && html`<p class="row wrap" role="status">${h(State, { name: result.success ? "DELIVERED" : "FAILED", word: String(result.responseStatus ?? result.errorMessage) })}<a href=${at(`/deliveries/${result.deliveryId}`)}>${t("See request and answer")}</a></p>`}
  </div>`;
}

/** @param {{eventType: string}} props */
export function Page({ eventType }) {
  const found = useResource(
    (signal) => api.call("GET", `/schemas/types/${encodeURIComponent(eventType)}/active`, { text: true, signal }),
    [eventType],
  );
  const up = /** @type {[string, string]} */ (["/types", t("Event types")]);
  if (!found.data)
    return html`${h(Head, { title: eventType, up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 10 })}`;
  const given = member(found.data, ["example"]);
  const example = given === "null" ? null : given;
  const { description, version } = JSON.parse(found.data);
  const acts = may("manageRules") || may("testDestinations");
  return html`${h(Head, { title: eventType, up })}${description && html`<p class="wide-text">${description}</p>`}
    <div class="two"><section class="panel"><header><h2>${t("Schema")}</h2><span class="quiet">${t("Version {n}", { n: version })}</span></header>
        <div class="inside">${h(Payload, { text: member(found.data, ["schema"]) })}</div></section>
      <div class="stack">${acts && html`<section class="panel"><header><h2>${t("Use it")}</h2></header><div class="inside">${h(Use, { eventType, example })}</div></section>`}
        <section class="panel"><header><h2>${t("Example")}</h2></header><div class="inside">${h(Payload, { text: example, none: t("There is no example.") })}</div></section></div></div>`;
}
