/** A replay job: its progress, its rate (which can change while it runs), its failures by cause, and its deliveries. */
import { h, html } from "../../vendor/preact.js";
import { duration, percent, rate } from "../format.js";
import { number, t } from "../i18n.js";
import { useAgain, useResource } from "../resource.js";
import { useStream } from "../stream.js";
import { Skeleton } from "../ui/table.js";
import { Failure } from "../ui/failure.js";
import { Ident } from "../ui/ident.js";
import { Moment } from "../ui/moment.js";
import { State } from "../ui/state.js";
import { act, Button } from "../act.js";
import { Head } from "../head.js";
import { DestinationName, useNames } from "../names.js";
import { api, at, may, whole } from "../api.js";
import { AGAIN_MS, Causes } from "../parts/replay-causes.js";
import { Rate } from "../parts/replay-rate.js";
import { done, listTitle, Selection } from "./replays.js";

/** The figures of each destination. They are loaded, because the stream only has those of the whole job. @param {{job: any, runs: boolean, reload: () => void}} props */
function Shares({ job, runs, reload }) {
  useAgain(reload, [job.enqueued, job.total, runs], runs ? AGAIN_MS : 0);
  if (!job.destinations?.length) return null;
  return html`<section class="panel"><header><h2>${t("By destination")}</h2></header><table class="table plain even"><thead><tr><th scope="col">${t("Destination")}</th><th scope="col" class="number" style=${{ inlineSize: "7rem" }}>${t("Sent")}</th><th scope="col" class="number" style=${{ inlineSize: "7rem" }}>${t("Total")}</th></tr></thead>
      <tbody>${job.destinations.map((/** @type {any} */ each) => html`<tr><td>${h(DestinationName, { id: each.destinationId })}</td><td class="number">${number(each.enqueued)}</td><td class="number">${number(each.total)}</td></tr>`)}</tbody></table></section>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
  const found = useResource((signal) => api.get(`/replay-jobs/${id}`, {}, signal), [id]);
  const progress = useResource((signal) => api.get(`/replay-jobs/${id}/progress`, {}, signal), [id]);
  useNames();
  useStream(
    api,
    "replays",
    {},
    {
      replays: ({ items }) => {
        const news = items.find((/** @type {any} */ each) => each.id === id);
        if (!news) return;
        found.set((old) => ({ ...old, ...news }));
        progress.reload();
      },
    },
    found.reload,
  );
  const job = found.data;
  const runs = job !== null && ["PENDING", "RUNNING", "PAUSED"].includes(job.status);
  const up = /** @type {[string, string]} */ (["/replays", listTitle()]);
  const one = whole ? t("Replay") : t("Recovery");
  if (!job)
    return html`${h(Head, { title: one, up })}${found.error ? h(Failure, { error: found.error, retry: found.reload }) : h(Skeleton, { rows: 8 })}`;
  const changed = (/** @type {any} */ next) => found.set((old) => ({ ...old, ...next }));
  const cancel = () =>
    act(() => api.post(`/replay-jobs/${id}/cancel`), t("Cancelled. Nothing further happens.")).then((next) => {
      if (next) changed(next);
    });
  const titles = { CANCEL: t("Cancelling waiting deliveries"), RETRY: t("Retrying waiting deliveries") };
  const title = titles[/** @type {keyof typeof titles} */ (job.kind)] ?? one;
  const figure = (/** @type {string} */ name, /** @type {any} */ value) =>
    html`<div class="figure"><span class="name">${name}</span><span class="value">${value}</span></div>`;
  const now = progress.data;
  const paced = runs && job.kind === "REPLAY" && !job.dryRun && may("replay");
  const list = `replayJobId=${id}`;
  return html`${h(Head, { title, up, live: runs }, runs && may("replay") && h(Button, { act: cancel, kind: "danger" }, t("Cancel it")))}
    <p class="verdict">${h(State, { name: job.status })}${now?.etaSeconds !== null && now?.etaSeconds !== undefined && runs && html`<span class="quiet">${t("{time} to go", { time: duration(now.etaSeconds * 1000) })}</span>`}</p>
    ${job.error && html`<p class="notice tone-bad">${job.error}</p>`}
    <div class="meter tall" role="progressbar" aria-valuenow=${Math.round(done(job) * 100)} aria-valuemin="0" aria-valuemax="100" aria-label=${t("Progress")}><i style=${{ inlineSize: `${done(job) * 100}%` }} /></div>
    <section class="figures" aria-live="off">${figure(t("Done"), percent(done(job)))}${figure(t("Total"), number(job.total))}${figure(t("Sent"), number(job.enqueued))}
      ${figure(t("Delivered"), number(job.delivered))}${figure(t("Failed"), job.failed ? html`<a class="bad" href=${at(`/deliveries?${list}&status=FAILED`)}>${number(job.failed)}</a>` : "0")}
      ${figure(t("Per second"), rate(now?.perSecond))}</section>
    ${paced && h(Rate, { job, changed })}
    <div class="halves"><div class="stack">${job.kind === "REPLAY" && job.failed > 0 && h(Causes, { job, runs })}
    ${h(Shares, { job, runs, reload: found.reload })}</div>
    <section class="panel"><header><h2>${t("Facts")}</h2><a href=${at(`/deliveries?${list}`)}>${t("Its deliveries")}</a></header><dl class="facts inside">
      <dt>${t("What")}</dt><dd>${h(Selection, { job })}</dd>
      <dt>${t("Id")}</dt><dd>${h(Ident, { id, whole: true })}</dd>
      <dt>${t("From")}</dt><dd>${h(Moment, { at: job.from })}</dd><dt>${t("To")}</dt><dd>${h(Moment, { at: job.to })}</dd>
      <dt>${t("Rate limit, per second")}</dt><dd>${job.ratePerSecond ?? t("none")}</dd>
      <dt>${t("Began")}</dt><dd>${h(Moment, { at: job.startedAt })}</dd><dt>${t("Ended")}</dt><dd>${h(Moment, { at: job.finishedAt })}</dd></dl></section></div>`;
}
