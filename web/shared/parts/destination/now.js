/** A destination now: its health and its deliveries, loaded once and then followed by the stream. */
import { html } from "../../../vendor/preact.js";
import { api } from "../../api.js";
import { usePages, useResource } from "../../resource.js";
import { useStream } from "../../stream.js";
import { merged } from "../deliveries.js";

const SHOWN = 200; // deliveries; the stream brings more for as long as the page is open

/** Return a destination's health and deliveries, which follow the stream. @param {string} id */
export function useNow(id) {
  const health = useResource((signal) => api.get(`/destinations/${id}/health`, {}, signal), [id]);
  const list = usePages(api, `/destinations/${id}/deliveries`, {});
  useStream(
    api,
    "health,deliveries",
    { destinationId: id },
    {
      health: ({ items }) => items.length && health.set(() => items[0]),
      deliveries: ({ items }) =>
        list.set((old) => {
          const { rows, others } = merged(old.items, items);
          return { ...old, items: [...others.reverse(), ...rows].slice(0, SHOWN) };
        }),
    },
    () => {
      health.reload();
      list.reload();
    },
  );
  return { health, list };
}

/** A figure of a destination. @param {{name: string, children?: any}} props */
export function Figure({ name, children }) {
  return html`<div class="figure"><span class="name">${name}</span><span class="value">${children}</span></div>`;
}
