/** The dialog of a replay: what is sent again, counted before it begins. */
import { h, html, useState } from "../../vendor/preact.js";
import { number, t, tn } from "../i18n.js";
import { go, query } from "../router.js";
import { Dialog } from "../ui/dialog.js";
import { Failure } from "../ui/failure.js";
import { Field } from "../ui/field.js";
import { useNames } from "../names.js";
import { api, at, whole } from "../api.js";
import { patterns } from "./creation.js";
import { gaveUp } from "./deliveries.js";
import { tellBegun } from "./replay-begun.js";

const LOOK_MS = 300;

/** Return a local time for a field, some hours ago. @param {number} hours */
function hoursAgo(hours) {
  const date = new Date(Date.now() - hours * 3600e3);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60e3).toISOString().slice(0, 16);
}

/** Count by a dry job, and wait for its end. @param {string} path that makes jobs @param {object} selection @returns {Promise<number>} */
export async function counted(path, selection) {
  let job = await api.post(path, { ...selection, dryRun: true });
  while (["PENDING", "RUNNING"].includes(job.status)) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    job = await api.get(`/replay-jobs/${job.id}`);
  }
  return job.total;
}

/** @param {{close: () => void, destinationId?: string}} props */
export function Replaying({ close, destinationId = query().destinationId }) {
  const names = useNames();
  const [draft, setDraft] = useState({
    destinationId: destinationId ?? "",
    types: "",
    mode: "AGAIN",
    status: "FAILED",
    from: hoursAgo(24),
    to: "",
    rate: "50",
  });
  const [count, setCount] = useState(/** @type {number | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const field = (/** @type {keyof typeof draft} */ name) => ({
    value: draft[name],
    change: (/** @type {string} */ value) => {
      setDraft({ ...draft, [name]: value });
      setCount(null);
    },
  });
  const { customerAccountId: customer, customer: customerName } = query();
  const types = patterns(draft.types);
  const selection = {
    destinationId: draft.destinationId || null,
    eventTypes: types.length ? types : null,
    mode: draft.mode,
    ...(customer && !draft.destinationId ? { customerAccountId: customer } : {}),
    statuses: draft.status && draft.mode === "AGAIN" ? [draft.status] : null,
    from: draft.from ? new Date(draft.from).toISOString() : null,
    to: draft.to ? new Date(draft.to).toISOString() : null,
  };
  const run = async (/** @type {() => Promise<void>} */ work) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
    setBusy(false);
  };
  const look = () => run(async () => setCount(await counted("/replay-jobs", selection)));
  const start = () =>
    run(async () => {
      const job = await api.post("/replay-jobs", { ...selection, ratePerSecond: Number(draft.rate) || null });
      close();
      if (whole) go(at(`/replays/${job.id}`));
      else tellBegun(job);
    });
  const known = /** @type {[string, string][]} */ (
    Object.entries(names).sort(([, one], [, two]) => one.localeCompare(two))
  );
  return h(
    Dialog,
    { title: whole ? t("New replay") : t("Recover deliveries"), close },
    html`<form class="form" onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (count) start();
      else look();
    }}>
    ${h(Field, {
      label: t("What"),
      ...field("mode"),
      options: [
        ["AGAIN", t("Past deliveries again")],
        ["MISSING", t("Events that the destination has no delivery of")],
      ],
      hint:
        draft.mode === "MISSING"
          ? t("By its current rules: for a new destination, or after you corrected a rule.")
          : "",
    })}
    ${h(Field, { label: t("Destination"), ...field("destinationId"), options: [["", draft.mode === "MISSING" ? t("Choose one") : customer ? t("All destinations of {name}", { name: customerName ?? customer }) : t("All destinations")], ...known] })}
    <div class="pair">
      ${
        draft.mode === "AGAIN" &&
        h(Field, {
          label: t("With the status"),
          ...field("status"),
          options: [
            ["FAILED", gaveUp()],
            ["DELIVERED", t("Delivered")],
            ["", t("Any")],
          ],
        })
      }
      ${h(Field, { label: t("Event types"), ...field("types"), hint: t("Empty: all.") })}
      ${h(Field, { label: t("From"), kind: "datetime-local", ...field("from") })}
      ${h(Field, { label: t("To"), kind: "datetime-local", ...field("to"), hint: t("Empty: until now.") })}
      ${h(Field, { label: t("At most per second"), kind: "number", min: 0, ...field("rate"), hint: t("Empty: as fast as it goes.") })}
    </div>
    ${count !== null && html`<p class="notice tone-info" role="status"><strong>${tn("{n} delivery would be sent again.", "{n} deliveries would be sent again.", count)}</strong></p>`}
    ${error && h(Failure, { error })}
    <div class="row"><button type="button" class=${count ? "button" : "button primary"} disabled=${busy} onClick=${look}>${busy && count === null ? t("Counting…") : t("Count first")}</button>
      <button type="button" class="button primary" disabled=${busy || !count} onClick=${start}>${count === null ? t("Start") : t("Start {n}", { n: number(count) })}</button></div>
  </form>`,
  );
}
