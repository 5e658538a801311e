/** The names of destinations, loaded once for all lists that show IDs. */
import { html, signal, useEffect } from "../vendor/preact.js";
import { short } from "./format.js";
import { api, at, whose } from "./api.js";

/** @type {import("../vendor/preact.js").Signal<Record<string, string>>} */
const names = signal({});
/** The customers of destinations that are tied to one, by the destination's id. @type {import("../vendor/preact.js").Signal<Record<string, string>>} */
const owners = signal({});
let loaded = ""; // the environment or customer whose names are loaded or being loaded
let of = "";

/** Return the names by ID. The first call loads them. */
export function useNames() {
  const reader = whose();
  useEffect(() => {
    if (loaded === reader) return;
    if (of !== reader) names.value = owners.value = {};
    of = loaded = reader;
    api.get("/destinations", { limit: 1000 }).then(
      ({ items }) => {
        if (of !== reader) return;
        names.value = Object.fromEntries(items.map((/** @type {any} */ each) => [each.id, each.name]));
        const tied = items.filter((/** @type {any} */ each) => each.customerExternalId);
        owners.value = Object.fromEntries(tied.map((/** @type {any} */ each) => [each.id, each.customerExternalId]));
      },
      () => {
        loaded = "";
      },
    );
  }, [reader]);
  return names.value;
}

/** A destination's name, with a link to it. @param {{id: string, plain?: boolean}} props */
export function DestinationName({ id, plain }) {
  const name = names.value[id] ?? short(id);
  if (plain) return html`<span class="cut" title=${name}>${name}</span>`;
  return html`<a class="cut" href=${at(`/destinations/${id}`)} title=${name}>${name}</a>`;
}

/** The customer that a destination is tied to, with a link; for the console's pages that use names. @param {{id: string}} props the destination's id */
export function OwnerName({ id }) {
  const owner = owners.value[id];
  return (
    owner && html`<a class="cut" href=${at(`/customers/${encodeURIComponent(owner)}`)} title=${owner}>${owner}</a>`
  );
}

/** Note names from other answers, so that a page need not load all names. @param {Record<string, string>} found */
export function learnNames(found) {
  if (Object.entries(found).some(([id, name]) => names.peek()[id] !== name))
    names.value = { ...names.peek(), ...found };
}

/** Forget the names: one was added or changed. */
export function forgetNames() {
  loaded = "";
}
