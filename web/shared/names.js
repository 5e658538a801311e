/** The names of destinations, loaded once for all lists that show ids. */
import { html, signal, useEffect } from "../vendor/preact.js";
import { short } from "./format.js";
import { api, at, whose } from "./api.js";

/** @type {import("../vendor/preact.js").Signal<Record<string, string>>} */
const names = signal({});
let loaded = ""; // whose names are there, or on their way
let of = "";

/** Return the names by id; they are loaded when they are first asked for. */
export function useNames() {
  const reader = whose();
  useEffect(() => {
    if (loaded === reader) return;
    if (of !== reader) names.value = {};
    of = loaded = reader;
    api.get("/destinations", { limit: 1000 }).then(
      ({ items }) => {
        if (of !== reader) return;
        names.value = Object.fromEntries(items.map((/** @type {any} */ each) => [each.id, each.name]));
      },
      () => {
        loaded = "";
      },
    );
  }, [reader]);
  return names.value;
}

/** A destination's name, with the way to it. @param {{id: string, plain?: boolean}} props */
export function DestinationName({ id, plain }) {
  const name = names.value[id] ?? short(id);
  if (plain) return html`<span class="cut" title=${name}>${name}</span>`;
  return html`<a class="cut" href=${at(`/destinations/${id}`)} title=${name}>${name}</a>`;
}

/** Forget the names: one was added or changed. */
export function forgetNames() {
  loaded = "";
}
