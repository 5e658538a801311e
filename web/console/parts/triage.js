/** The triage of one cause: count first, then ten, watch what becomes of them, then all. */
import { h, html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { number, t, tn } from "../../shared/i18n.js";
import { useStream } from "../../shared/stream.js";
import { Field } from "../../shared/ui/field.js";
import { State } from "../../shared/ui/state.js";
import { act, Button } from "../../shared/act.js";
import { api } from "../session.js";

const FEW = 10;
const ENDS = ["DELIVERED", "FAILED"];

/** @param {{group: any, verb: string, done: () => void}} props `verb`: retry or discard */
export function Triage({ group, verb, done }) {
  const selection = { destinationId: group.destinationId, signature: group.signature };
  const [count, setCount] = useState(/** @type {number | null} */ (null));
  const [rate, setRate] = useState("50");
  const [tried, setTried] = useState(0);
  // By id, as the stream can tell of a delivery twice. Retries of other causes by other operators are among them.
  const [ended, setEnded] = useState(/** @type {Map<string, string>} */ (new Map()));
  const countOf = (/** @type {string} */ status) =>
    number([...ended.values()].filter((each) => each === status).length);
  const asked = useRef(false); // the stream can tell of the first outcomes before the answer to the retry has come
  const ask = (/** @type {object} */ more) => act(() => api.post(`/dlq/${verb}`, { ...selection, ...more }));
  const recount = () =>
    ask({ dryRun: true }).then((answer) => {
      if (answer) setCount(answer.matched);
    });
  useEffect(() => {
    recount();
  }, []);
  useStream(
    api,
    "deliveries,dlq",
    { destinationId: group.destinationId },
    {
      deliveries: ({ items }) =>
        setEnded((old) => {
          if (!asked.current) return old;
          const dead = items.filter((/** @type {any} */ each) => each.dlqStatus && ENDS.includes(each.status));
          return new Map([...old, ...dead.map((/** @type {any} */ each) => [each.id, each.status])]);
        }),
    },
  );
  const few = async () => {
    asked.current = true;
    const answer = await ask({ limit: FEW });
    if (!answer) return;
    setTried((before) => before + answer.retried);
    setCount(answer.remaining);
  };
  const all = async () => {
    const answer = await ask(verb === "retry" && Number(rate) > 0 ? { ratePerSecond: Number(rate) } : {});
    if (answer) done();
  };
  if (count === null) return html`<p class="triage quiet">${t("Counting…")}</p>`;
  if (verb === "discard") {
    return html`<div class="triage stack"><p>${tn("{n} dead letter is discarded for good.", "{n} dead letters are discarded for good.", count)}</p>
      <div class="row">${h(Button, { act: all, kind: "danger" }, tn("Discard {n}", "Discard {n}", count))}<button type="button" class="button" onClick=${done}>${t("Keep them")}</button></div></div>`;
  }
  return html`<div class="triage stack">
    ${
      tried > 0 &&
      html`<p class="row wrap" role="status"><strong>${tn("{n} retried", "{n} retried", tried)}</strong>
      ${h(State, { name: "DELIVERED", word: t("{n} delivered", { n: countOf("DELIVERED") }) })}${h(State, { name: "FAILED", word: t("{n} failed again", { n: countOf("FAILED") }) })}</p>`
    }
    ${
      count === 0
        ? html`<p>${t("No dead letter with this cause is left.")}</p>`
        : html`<div class="row wrap end">
      ${count > FEW && h(Button, { act: few, kind: "primary" }, t("Retry {n}, and watch", { n: FEW }))}
      ${h(Field, { label: t("A second"), value: rate, change: setRate, kind: "number", min: 0 })}
      ${h(Button, { act: all, kind: count > FEW ? "" : "primary" }, tried > 0 ? tn("Retry the other {n}", "Retry the other {n}", count) : tn("Retry {n}", "Retry all {n}", count))}</div>`
    }
    <div><button type="button" class="link" onClick=${done}>${t("Close")}</button></div>
  </div>`;
}
