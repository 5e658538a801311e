/** The rate of a running replay, in a field that changes it. */
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { act } from "../act.js";
import { api } from "../api.js";
import { number, t } from "../i18n.js";

const LEAST = 0.001; // a second, as the API allows
const MOST = 1_000_000;

/** @param {{job: any, changed: (job: any) => void}} props `changed` gets what the service answered */
export function Rate({ job, changed }) {
  const set = job.ratePerSecond;
  const [draft, setDraft] = useState(String(set ?? ""));
  const [busy, setBusy] = useState(false);
  const before = useRef(draft);
  // Another operator changed the rate, or a change was undone. A value that is being typed stays.
  useEffect(() => {
    const [former, now] = [before.current, String(set ?? "")];
    setDraft((old) => (old === former ? now : old));
    before.current = now;
  }, [set]);
  const patch = (/** @type {number | null} */ rate) => api.patch(`/replay-jobs/${job.id}`, { ratePerSecond: rate });
  const told = (/** @type {number | null} */ rate) =>
    rate === null
      ? t("No rate limit from now on.")
      : t("At most {n} a second from now on.", { n: number(rate, { maximumFractionDigits: 6 }) });
  const save = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const rate = draft === "" ? null : Number(draft);
    setBusy(true);
    const answer = await act(() => patch(rate), told(rate), {
      label: t("Undo"),
      act: () =>
        act(() => patch(set), told(set)).then((back) => {
          if (back) changed(back);
        }),
    });
    setBusy(false);
    if (answer) changed(answer);
  };
  const same = draft === String(set ?? "");
  return html`<form class="row wrap" onSubmit=${save}>
    <label class="row">${t("Rate limit, per second")} <input class="input number rate" type="number" min=${LEAST} max=${MOST} step="any" value=${draft} placeholder=${t("none")}
      onInput=${(/** @type {any} */ event) => setDraft(event.currentTarget.value)} /></label>
    <button class="button" disabled=${busy || same}>${t("Set the rate")}</button>
    <span class="quiet">${t("Empty: no limit.")}</span></form>`;
}
