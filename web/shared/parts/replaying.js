/** The dialog of a replay: its selection, counted before the start. */
import { h, html, useState } from "../../vendor/preact.js";
import { number, t, tn } from "../i18n.js";
import { go, query } from "../router.js";
import { Dialog } from "../ui/dialog.js";
import { Failure } from "../ui/failure.js";
import { Field } from "../ui/field.js";
import { Payload } from "../ui/payload.js";
import { useNames } from "../names.js";
import { api, at, whole } from "../api.js";
import { gaveUp } from "./deliveries.js";
import { hoursAgo } from "../format.js";
import { patterns } from "./type-choice.js";

const LOOK_MS = 300;
const SHARES = 20; // the most destinations, and the most event types, in a preview

/** Count by a dry job, and wait for its end. @param {string} path that makes jobs @param {object} selection @returns {Promise<any>} the job */
export async function rehearsed(path, selection) {
  let job = await api.post(path, { ...selection, dryRun: true });
  while (["PENDING", "RUNNING"].includes(job.status)) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    job = await api.get(`/replay-jobs/${job.id}`);
  }
  return job;
}

/** Return how many deliveries a job would concern. @param {string} path @param {object} selection @returns {Promise<number>} */
export const counted = (path, selection) => rehearsed(path, selection).then((job) => job.total);

/** The largest shares of a total, and the rest. @param {{title: string, shares: [string, number][], total: number}} props */
function Shares({ title, shares, total }) {
  const rest = total - shares.reduce((sum, [, count]) => sum + count, 0);
  return html`<section class="shares"><h2>${title}</h2><dl class="facts small">
    ${shares.map(([name, count]) => html`<dt title=${name}>${name}</dt><dd>${number(count)}</dd>`)}
    ${rest > 0 && html`<dt>${t("Others")}</dt><dd>${number(rest)}</dd>`}</dl></section>`;
}

/** The preview of a replay: its event types, its destinations, and its first requests. @param {{job: any, names: Record<string, string>}} props `job`: a dry one */
function Preview({ job, names }) {
  const types = (job.types ?? []).map((/** @type {any} */ each) => [each.eventType, each.total]);
  const destinations = job.destinations
    .slice(0, SHARES)
    .map((/** @type {any} */ each) => [names[each.destinationId] ?? each.destinationId, each.total]);
  return html`<div class="notice tone-info" role="status"><strong>${tn("{n} delivery would be sent again.", "{n} deliveries would be sent again.", job.total)}</strong>
    ${
      job.total > 0 &&
      html`<div class="pair">${h(Shares, { title: t("By event type"), shares: types, total: job.total })}
      ${h(Shares, { title: t("By destination"), shares: destinations, total: job.total })}</div>`
    }
    ${
      job.samples?.length > 0 &&
      html`<details><summary>${t("The first requests as they would be sent")}</summary>
      <div class="stack">${job.samples.map((/** @type {any} */ each) => h(Payload, { title: `${each.method} ${each.url}`, text: each.body, none: t("The body is not shown.") }))}</div></details>`
    }</div>`;
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
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const field = (/** @type {keyof typeof draft} */ name) => ({
    value: draft[name],
    change: (/** @type {string} */ value) => {
      setDraft({ ...draft, [name]: value });
      setPreview(null);
    },
  });
  const lastHour = () => {
    setDraft({ ...draft, from: hoursAgo(1), to: "" });
    setPreview(null);
  };
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
  const look = () => run(async () => setPreview(await rehearsed("/replay-jobs", selection)));
  const start = () =>
    run(async () => {
      const job = await api.post("/replay-jobs", { ...selection, ratePerSecond: Number(draft.rate) || null });
      close();
      go(at(`/replays/${job.id}`));
    });
  const count = preview?.total ?? null;
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
        ["AGAIN", t("Past deliveries")],
        ["MISSING", t("Events without a delivery to the destination")],
      ],
      hint:
        draft.mode === "MISSING"
          ? t("Its current rules choose the events. Useful for a new destination, or after you corrected a rule.")
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
      ${h(Field, { label: t("Rate limit, per second"), kind: "number", min: 0, ...field("rate"), hint: t("Empty: no limit.") })}
    </div>
    <p><button type="button" class="link" onClick=${lastHour}>${t("The last hour")}</button></p>
    ${preview && h(Preview, { job: preview, names })}
    ${error && h(Failure, { error })}
    <div class="row"><button type="button" class=${count ? "button" : "button primary"} disabled=${busy} onClick=${look}>${busy && count === null ? t("Counting…") : t("Count first")}</button>
      <button type="button" class="button primary" disabled=${busy || !count} onClick=${start}>${count === null ? t("Start") : t("Start {n}", { n: number(count) })}</button></div>
  </form>`,
  );
}
