/** The router: the address is the state. Links are ordinary links, so they open in new tabs. */
import { signal } from "../vendor/preact.js";

/** @type {import("../vendor/preact.js").Signal<URL>} the address that is shown */
export const address = signal(new URL(location.href));

/** Follow links of this application without loading the page anew. @param {string} base such as `/console` */
export function start(base) {
  addEventListener("popstate", () => {
    address.value = new URL(location.href);
  });
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const link = target.closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented) return;
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const to = new URL(link.href);
    const inside = to.pathname === base || to.pathname.startsWith(base + "/");
    if (to.origin !== location.origin || !inside || link.target || link.hasAttribute("download")) return;
    event.preventDefault();
    go(to.href, link.dataset.row);
  });
}

/** Open an address. @param {string} to @param {string} [row] the row that has the focus when the reader comes back */
export function go(to, row) {
  if (row) history.replaceState({ row }, "");
  history.pushState(null, "", to);
  address.value = new URL(location.href);
  scrollTo(0, 0);
}

/** Change parameters of the address; what is empty is left out. @param {Record<string, string | null | undefined>} changes */
export function setQuery(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
  address.value = url;
}

/** Return the parameters of the address. @returns {Record<string, string>} */
export function query() {
  return Object.fromEntries(address.value.searchParams);
}

/** Take filters out of the address. @param {{name: string}[]} filters */
export function clear(filters) {
  setQuery(Object.fromEntries(filters.map(({ name }) => [name, null])));
}

/** Return what filters ask for, of the address. @param {{name: string}[]} filters */
export function asked(filters) {
  const given = query();
  return Object.fromEntries(filters.filter(({ name }) => given[name]).map(({ name }) => [name, given[name]]));
}

/** Return the row that had the focus when this address was left. @returns {string | undefined} */
export function lastRow() {
  return history.state?.row;
}

/**
 * Find the route of a path. A part that begins with a colon takes one segment.
 * @template T @param {[string, T][]} routes @param {string} path
 * @returns {{page: T, params: Record<string, string>} | null}
 */
export function match(routes, path) {
  const parts = path.split("/").filter(Boolean);
  for (const [pattern, page] of routes) {
    const wanted = pattern.split("/").filter(Boolean);
    if (wanted.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const fits = wanted.every((each, index) => {
      if (!each.startsWith(":")) return each === parts[index];
      params[each.slice(1)] = decodeURIComponent(parts[index]);
      return true;
    });
    if (fits) return { page, params };
  }
  return null;
}
