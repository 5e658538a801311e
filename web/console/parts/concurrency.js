/** The concurrency of a destination: a slider with its number, the service's suggestion, and undo. */
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { act } from "../../shared/act.js";
import { api, writes } from "../session.js";

const STEPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
const MOST = 256;
const STILL_MS = 250; // an arrow key changes the slider at each step: only the last value is sent

/** Return the place of a value on the slider. @param {number} value */
function place(value) {
  const index = STEPS.findIndex((each) => each >= value);
  return index < 0 ? STEPS.length - 1 : index;
}

/**
 * @param {{destination: any, queue: any, changed: (destination: any) => void, seen?: (health: any) => void}} props `changed` gets the service's answer, `seen` the health after it
 */
export function Concurrency({ destination, queue, changed, seen }) {
  const set = destination.delivery.concurrency;
  const now = set === "auto" ? queue.concurrency : set;
  const strict = destination.delivery.ordering === "STRICT";
  const [draft, setDraft] = useState(now);
  const timer = useRef(0);
  const held = useRef(false); // by a pointer, whose release sets the value
  useEffect(() => {
    if (!timer.current) setDraft(now);
  }, [now]);
  const send = async (/** @type {number | "auto"} */ concurrency) => {
    timer.current = 0;
    if (concurrency === set) return;
    const patch = (/** @type {number | "auto"} */ value) =>
      api.patch(`/destinations/${destination.id}`, { delivery: { concurrency: value } });
    const undo = {
      label: t("Undo"),
      act: () =>
        act(() => patch(set)).then((back) => {
          if (back) changed(back);
        }),
    };
    const answer = await act(
      () => patch(concurrency),
      t("{name}: concurrency {value}", { name: destination.name, value: concurrency }),
      undo,
    );
    if (!answer) return setDraft(now);
    changed(answer);
    // The stream sends the health once a second; this shows the effect of the change immediately.
    if (seen) api.get(`/destinations/${destination.id}/health`).then(seen, () => undefined);
  };
  const later = (/** @type {number} */ value) => {
    setDraft(value);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => send(value), held.current ? 0 : STILL_MS);
    held.current = false;
  };
  const whole = (/** @type {string} */ text) => Math.min(MOST, Math.max(1, Math.round(Number(text)) || 1));
  const suggested = queue.suggestedConcurrency;
  if (!writes.value || strict) {
    return html`<span class="quiet">${strict ? t("1, because order is strict") : set === "auto" ? t("auto, now {n}", { n: now }) : now}</span>`;
  }
  return html`<div class="slide">
    <span class="track"><input type="range" min="0" max=${STEPS.length - 1} step="1" value=${place(draft)} list="steps"
      aria-label=${t("Concurrency of {name}", { name: destination.name })} aria-valuetext=${String(draft)}
      onPointerDown=${() => {
        held.current = true;
      }}
      onInput=${(/** @type {any} */ event) => setDraft(STEPS[event.currentTarget.value])}
      onChange=${(/** @type {any} */ event) => later(STEPS[event.currentTarget.value])} />
      ${suggested !== null && html`<i class="advice" title=${t("suggested: {n}", { n: suggested })} style=${{ insetInlineStart: `calc(8px + (100% - 16px) * ${place(suggested) / (STEPS.length - 1)})` }} />`}</span>
    <input class="input number" inputmode="numeric" value=${draft} aria-label=${t("Concurrency of {name}, exactly", { name: destination.name })}
      onChange=${(/** @type {any} */ event) => {
        setDraft(whole(event.currentTarget.value));
        send(whole(event.currentTarget.value));
      }} />
    <span class="hints">
      <button type="button" class="link" aria-pressed=${set === "auto"} onClick=${() => send(set === "auto" ? now : "auto")}>
        ${set === "auto" ? t("auto: on") : t("auto")}</button>
      ${
        suggested !== null &&
        suggested > now &&
        html`<button type="button" class="link" onClick=${() => send(suggested)}>
        ${t("suggested: {n}", { n: suggested })}</button>`
      }
    </span>
  </div>`;
}
