/** The router: the address is the state. Links are ordinary links, so they open in new tabs. A page's module is loaded late. */
import { h, html, signal, useEffect, useErrorBoundary, useLayoutEffect } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { lazily, loaded } from "./resource.js";

/** @typedef {[string, any][]} Routes path, and what `page` returns */

/** @type {import("../vendor/preact.js").Signal<URL>} the address that is shown */
export const address = signal(new URL(location.href));

/**
 * Follow links of this application without loading the page again. The module of a page is loaded early: when the pointer
 * or the focus reaches a link to it, and the reader waits for no other data. @param {string} base such as `/console` @param {Routes} routes
 */
export function start(base, routes) {
  /** @param {Event} event @returns {HTMLAnchorElement | null} a link to a page of this application */
  const linkOf = ({ target }) => {
    const link = /** @type {Element} */ (target).closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return null;
    if (link.hash && link.pathname === location.pathname) return null; // an anchor in this page
    const inside = link.pathname === base || link.pathname.startsWith(base + "/");
    return inside && link.origin === location.origin ? link : null;
  };
  addEventListener("popstate", () => {
    address.value = new URL(location.href);
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.href, link.dataset.row);
  });
  for (const kind of ["pointerover", "focusin"])
    document.addEventListener(kind, (event) => {
      const link = linkOf(event);
      // If it can not be loaded now, the page says so when it is opened.
      if (link && loaded())
        match(routes, inner(new URL(link.href)))
          ?.page.load()
          .catch(() => undefined);
    });
}

/** Return the path below the environment or the workspace. @param {URL} [of] */
export function inner(of = address.value) {
  return "/" + of.pathname.split("/").slice(3).join("/");
}

/** Return a page of a table of routes: its module exports `Page`. @param {() => Promise<{Page: (props: any) => any}>} load */
export function page(load) {
  return Object.assign(
    lazily(() => load().then((found) => found.Page), useLayoutEffect),
    { load },
  );
}

/** The page of the address, or the reason why it is missing.
 * @param {{routes: Routes, home: [string, string], place?: string}} props `home`: address and words of the way back;
 *   `place`: if it changes, the page is created again
 */
export function Outlet({ routes, home, place = "" }) {
  const [error, reset] = useErrorBoundary((/** @type {any} */ problem) => console.error(problem));
  const found = match(routes, inner());
  const Page = found?.page;
  useEffect(reset, [Page]);
  if (!Page)
    return html`<main class="page" id="main"><h1>${t("There is no such page.")}</h1><p><a href=${home[0]}>${home[1]}</a></p></main>`;
  if (error)
    return html`<main class="page" id="main"><h1>${t("Something went wrong on this page.")}</h1><p class="notice tone-bad">${String(error.message)}</p><p><button type="button" class="button" onClick=${reset}>${t("Try again")}</button></p></main>`;
  const { params } = found;
  const { tab, ...object } = params; // the tabs of an object are one page
  void tab;
  return html`<main class="page" id="main" tabindex="-1">${h(Page, { key: [place, ...Object.values(object)].join(" "), ...params })}</main>`;
}

/** Open an address. @param {string} to @param {string} [row] the row that gets the focus when the reader returns */
export function go(to, row) {
  if (row) history.replaceState({ row }, "");
  history.pushState(null, "", to);
  address.value = new URL(location.href);
  scrollTo(0, 0);
}

/** Scroll a bar of links to that of the current page, if the bar is too narrow for all. @param {HTMLElement | null} bar */
export function reveal(bar) {
  const tab = bar?.querySelector("[aria-current]");
  const hidden = tab && bar ? tab.getBoundingClientRect().right - bar.getBoundingClientRect().right : 0;
  if (bar && hidden > 0) bar.scrollLeft += hidden;
}

/** Change parameters of the address; empty ones are removed. @param {Record<string, string | null | undefined>} changes */
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

/** Remove filters from the address. @param {{name: string}[]} filters */
export function clear(filters) {
  setQuery(Object.fromEntries(filters.map(({ name }) => [name, null])));
}

/** Return the values of filters in the address. @param {{name: string}[]} filters */
export function asked(filters) {
  const given = query();
  return Object.fromEntries(filters.filter(({ name }) => given[name]).map(({ name }) => [name, given[name]]));
}

/** Return the row that had the focus when the reader left this address. @returns {string | undefined} */
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
