/** The triage of one cause: count its deliveries, retry or discard ten, watch their outcomes, then take all. */
import { h, html, useEffect, useState } from "../../vendor/preact.js";
import { number, t, tn } from "../../shared/i18n.js";
import { useStream } from "../../shared/stream.js";
import { Field } from "../../shared/ui/field.js";
import { State } from "../../shared/ui/state.js";
import { act, Button } from "../../shared/act.js";
import { useResource } from "../../shared/resource.js";
import { say } from "../../shared/ui/toasts.js";
import { Hold } from "../../shared/parts/holds.js";
import { api, at } from "../session.js";

const FEW = 10;
const ENDS = ["DELIVERED", "FAILED"];

/** @param {{group: any, verb: string, done: () => void}} props `verb`: retry or discard */
export function Triage({ group, verb, done }) {
  const selection = { destinationId: group.destinationId, signature: group.signature };
  const [count, setCount] = useState(/** @type {number | null} */ (null));
  const [rate, setRate] = useState("50");
  // The retried deliveries by id, with the status in which each has ended. Others are retried meanwhile: for other causes, or
  // by other operators. An id is noted before the request: the stream can report an outcome before the answer has come.
  const [tried, setTried] = useState(/** @type {Map<string, string | null>} */ (new Map()));
  const countOf = (/** @type {string} */ status) =>
    number([...tried.values()].filter((each) => each === status).length);
  const ask = (/** @type {object} */ more) => act(() => api.post(`/dlq/${verb}`, { ...selection, ...more }));
  const recount = () =>
    ask({ dryRun: true }).then((answer) => {
      if (answer) setCount(answer.matched);
    });
  const health = useResource((signal) => api.get(`/destinations/${group.destinationId}/health`, {}, signal), []);
  useEffect(() => {
    recount();
  }, []);
  useStream(
    api,
    "deliveries,health",
    { destinationId: group.destinationId },
    {
      health: ({ items }) => items.length && health.set(() => items[0]),
      deliveries: ({ items }) =>
        setTried((old) => {
          const mine = items.filter((/** @type {any} */ each) => old.has(each.id) && ENDS.includes(each.status));
          return new Map([...old, ...mine.map((/** @type {any} */ each) => [each.id, each.status])]);
        }),
    },
  );
  const few = async () => {
    /** @type {any} */
    let page = null;
    do {
      const cursor = page?.nextCursor;
      page = await act(() => api.get("/dlq", { ...selection, limit: FEW, cursor }));
    } while (page?.nextCursor && !page.items.length);
    if (!page) return;
    const ids = page.items.map((/** @type {any} */ each) => each.deliveryId);
    if (ids.length) {
      setTried((old) => new Map([...old, ...ids.map((/** @type {string} */ id) => [id, null])]));
      if (!(await ask({ deliveryIds: ids }))) setTried((old) => new Map([...old].filter(([id]) => !ids.includes(id))));
    }
    await recount();
  };
  const all = async () => {
    const answer = await ask(verb === "retry" && Number(rate) > 0 ? { ratePerSecond: Number(rate) } : {});
    if (!answer) return;
    const text =
      verb === "retry"
        ? tn("{n} dead letter is being retried.", "{n} dead letters are being retried.", answer.retried)
        : tn("{n} dead letter is discarded.", "{n} dead letters are discarded.", answer.discarded);
    const href = at(`/deliveries?destinationId=${group.destinationId}&status=PENDING,RETRYING,FAILED`);
    say(text, verb === "retry" ? { action: { label: t("Watch them"), href } } : {});
    done();
  };
  const open = [...tried.values()].filter((each) => each === null).length;
  if (count === null) return html`<p class="triage quiet">${t("Counting…")}</p>`;
  if (verb === "discard") {
    return html`<div class="triage stack"><p>${tn("Discard {n} dead letter? This cannot be undone.", "Discard {n} dead letters? This cannot be undone.", count)}</p>
      <div class="row">${h(Button, { act: all, kind: "danger" }, tn("Discard {n}", "Discard {n}", count))}<button type="button" class="button" onClick=${done}>${t("Keep them")}</button></div></div>`;
  }
  return html`<div class="triage stack">
    ${
      tried.size > 0 &&
      html`<p class="row wrap" role="status"><strong>${tn("{n} retried", "{n} retried", tried.size)}</strong>
      ${h(State, { name: "DELIVERED", word: t("{n} delivered", { n: countOf("DELIVERED") }) })}${h(State, { name: "FAILED", word: t("{n} failed again", { n: countOf("FAILED") }) })}
      ${open > 0 && html`<span>${tn("{n} still waits", "{n} still wait", open)}</span>${h(Hold, { hold: health.data?.hold })}`}</p>`
    }
    ${
      count === 0
        ? html`<p>${t("No dead letter with this cause is left.")}</p>`
        : html`<div class="row wrap end">
      ${count > FEW && h(Button, { act: few, kind: "primary" }, t("Retry {n}, and watch", { n: FEW }))}
      ${h(Field, { label: t("Rate limit, per second"), value: rate, change: setRate, kind: "number", min: 0 })}
      ${h(Button, { act: all, kind: count > FEW ? "" : "primary" }, tried.size > 0 ? tn("Retry the other {n}", "Retry the other {n}", count) : tn("Retry {n}", "Retry all {n}", count))}</div>`
    }
    <div><button type="button" class="link" onClick=${done}>${t("Close")}</button></div>
  </div>`;
}
