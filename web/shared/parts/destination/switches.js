/** The actions on a destination: test, switch, archive. */
import { h, html, useState } from "../../../vendor/preact.js";
import { duration, words } from "../../format.js";
import { t } from "../../i18n.js";
import { Dialog } from "../../ui/dialog.js";
import { Payload } from "../../ui/payload.js";
import { State } from "../../ui/state.js";
import { act, Button } from "../../act.js";
import { forgetNames } from "../../names.js";
import { api, at, may } from "../../api.js";

/** The receiver's answer to a sample. @param {{result: any, close: () => void}} props */
function Tried({ result, close }) {
  return h(
    Dialog,
    { title: t("Answer to the sample"), close },
    html`<div class="stack">
    <p class="row wrap">${h(State, { name: result.success ? "DELIVERED" : "FAILED", word: result.responseStatus ? String(result.responseStatus) : words(result.errorCategory) })}
      <span class="quiet">${duration(result.durationMs)}</span></p>
    ${result.errorMessage && html`<p class="bad">${result.errorMessage}</p>`}
    ${h(Payload, { text: result.responseBody, title: t("Answer") })}
    <p><a href=${at(`/deliveries/${result.deliveryId}`)} onClick=${close}>${t("See request and answer")}</a></p></div>`,
  );
}

/** The dialog that switches a destination off: it says what happens to the deliveries. @param {{destination: any, close: () => void, stop: () => Promise<void>}} props */
function Stopping({ destination, close, stop }) {
  return h(
    Dialog,
    { title: t("Switch off {name}?", { name: destination.name }), close },
    html`<div class="stack">
    <p>${t("Nothing is sent to it from now on. Waiting and new deliveries are kept, and are sent when you switch it on again.")}</p>
    <div class="row">${h(Button, { act: stop, kind: "primary" }, t("Switch off"))}
      <button type="button" class="button" onClick=${close}>${t("Leave it on")}</button></div></div>`,
  );
}

/** @param {{destination: any, close: () => void, done: (destination: any) => void}} props */
function Archiving({ destination, close, done }) {
  const archive = async () => {
    const gone = await act(
      () => api.delete(`/destinations/${destination.id}`),
      t("{name} is archived.", { name: destination.name }),
    );
    if (!gone) return;
    forgetNames();
    done({ ...destination, status: "ARCHIVED" });
  };
  return h(
    Dialog,
    { title: t("Archive {name}?", { name: destination.name }), close },
    html`<div class="stack">
    <p>${t("Its waiting deliveries are discarded, and its routing rules are deleted. All its deliveries stay readable. This cannot be undone.")}</p>
    <div class="row">${h(Button, { act: archive, kind: "danger" }, t("Archive it"))}
      <button type="button" class="button" onClick=${close}>${t("Keep it")}</button></div></div>`,
  );
}

/** @param {{destination: any, changed: (destination: any) => void}} props */
export function Switches({ destination, changed }) {
  const [result, setResult] = useState(/** @type {any} */ (null));
  const [asks, setAsks] = useState("");
  if (destination.status === "ARCHIVED") return null;
  const path = `/destinations/${destination.id}`;
  const active = destination.status === "ACTIVE";
  const test = async () => setResult(await act(() => api.post(`${path}/test`)));
  const close = () => setAsks("");
  const turn = async () => {
    const next = await act(
      () => api.post(`${path}/${active ? "disable" : "enable"}`),
      active ? t("It is switched off; its deliveries wait.") : t("It is switched on."),
    );
    close();
    if (next) changed(next);
  };
  return html`${may("testDestinations") && h(Button, { act: test }, t("Send a sample"))}
    ${may("switchDestinations") && (active ? h(Button, { act: async () => setAsks("off") }, t("Switch off…")) : h(Button, { act: turn }, t("Switch on")))}
    ${may("archiveDestinations") && h(Button, { act: async () => setAsks("archive"), kind: "danger" }, t("Archive"))}
    ${result && h(Tried, { result, close: () => setResult(null) })}
    ${asks === "off" && h(Stopping, { destination, close, stop: turn })}
    ${asks === "archive" && h(Archiving, { destination, close, done: changed })}`;
}
