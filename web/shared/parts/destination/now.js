/** A destination now: its health and its deliveries, loaded once and then followed by the stream. */
import { h, html, useState } from "../../../vendor/preact.js";
import { api } from "../../api.js";
import { t, tn } from "../../i18n.js";
import { usePages, useResource } from "../../resource.js";
import { useStream } from "../../stream.js";
import { Moment } from "../../ui/moment.js";
import { merged } from "../deliveries.js";

/**
 * Return a destination's health and deliveries, which follow the stream: rows change in place, and new ones are counted until
 * `show` is called. @param {string} id
 */
export function useNow(id) {
  const [fresh, setFresh] = useState(0);
  const health = useResource((signal) => api.get(`/destinations/${id}/health`, {}, signal), [id]);
  const list = usePages(api, `/destinations/${id}/deliveries`, {});
  useStream(
    api,
    "health,deliveries",
    { destinationId: id },
    {
      health: ({ items }) => items.length && health.set(() => items[0]),
      deliveries: ({ items, omitted }) =>
        list.set((old) => {
          const { rows, others } = merged(old.items, items);
          if (!rows.length) return { ...old, items: others.reverse() }; // there are no rows that could move
          const count = others.filter((each) => each.id > rows[0].id).length + omitted;
          if (count) setTimeout(() => setFresh((n) => n + count));
          return { ...old, items: rows };
        }),
    },
    () => {
      health.reload();
      list.reload();
    },
  );
  const show = () => {
    setFresh(0);
    list.reload();
  };
  return { health, list, fresh, show };
}

/** The cause and the start of a destination's failures. @param {{health: any, children?: any}} props `children`: the possible actions */
export function Trouble({ health, children }) {
  const { state, lastError, lastFailureAt, lastSuccessAt, failingSince, consecutiveFailures } = health;
  if (!["FAILING", "DEGRADED", "DISABLED"].includes(state) || !(lastError || failingSince)) return null;
  return html`<div class="notice tone-bad"><p><strong>${lastError ?? t("Its deliveries fail.")}</strong> <span class="quiet">${h(Moment, { at: lastFailureAt, relative: true })}</span></p>
    <p class="row wrap">${failingSince && html`<span>${t("Failing since")} ${h(Moment, { at: failingSince })}</span>`}
      ${consecutiveFailures > 1 && html`<span>${tn("{n} failure in a row", "{n} failures in a row", consecutiveFailures)}</span>`}
      <span>${lastSuccessAt ? html`${t("Last success")} ${h(Moment, { at: lastSuccessAt })}` : t("No success is known.")}</span>${children}</p></div>`;
}

/** A figure of a destination. @param {{name: string, children?: any}} props */
export function Figure({ name, children }) {
  return html`<div class="figure"><span class="name">${name}</span><span class="value">${children}</span></div>`;
}
