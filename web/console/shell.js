/** The frame of every page: navigation, environment, the page of the address, and what lies over it. */
import { h, html, signal, useEffect, useErrorBoundary, useState } from "../vendor/preact.js";
import { locale, t, useLocale } from "../shared/i18n.js";
import { address, go, match } from "../shared/router.js";
import { Toasts } from "../shared/ui/toasts.js";
import { listen } from "./keyboard.js";
import { at, ended, environment, logout, segment, session } from "./session.js";

/** @type {[string, () => Promise<any>][]} path, and the module of its page, whose `Page` is shown */
const ROUTES = [
  ["/", () => import("./pages/overview.js")],
  ["/pulse", () => import("./pages/pulse.js")],
  ["/destinations", () => import("./pages/destinations.js")],
  ["/destinations/:id", () => import("./pages/destination.js")],
  ["/destinations/:id/:tab", () => import("./pages/destination.js")],
  ["/events", () => import("./pages/events.js")],
  ["/events/:id", () => import("./pages/event.js")],
  ["/deliveries", () => import("./pages/deliveries.js")],
  ["/deliveries/:id", () => import("./pages/delivery.js")],
  ["/dlq", () => import("./pages/dlq.js")],
  ["/replays", () => import("./pages/replays.js")],
  ["/replays/:id", () => import("./pages/replay.js")],
  ["/rules", () => import("./pages/rules.js")],
  ["/schemas", () => import("./pages/schemas.js")],
  ["/schemas/:eventType", () => import("./pages/schema.js")],
  ["/customers", () => import("./pages/customers.js")],
  ["/customers/:externalId", () => import("./pages/customer.js")],
  ["/bench/:id", () => import("./pages/bench.js")],
  ["/audit", () => import("./pages/audit.js")],
  ["/settings", () => import("./pages/settings.js")],
  ["/signatures", () => import("./pages/signatures.js")],
  ["/components", () => import("./pages/components.js")],
];

/** The navigation: a group, its entries (path, title). @returns {[string, [string, string][]][]} */
const menu = () => [
  ["", [["/", t("Overview")], ["/pulse", t("Pulse")], ["/destinations", t("Destinations")]]],
  [t("Traffic"), [["/events", t("Events")], ["/deliveries", t("Deliveries")], ["/dlq", t("Dead letters")], ["/replays", t("Replays")]]],
  [t("Configuration"), [["/rules", t("Routing rules")], ["/schemas", t("Schemas")], ["/customers", t("Customers")]]],
  [t("Workspace"), [["/audit", t("Audit log")], ["/settings", t("Settings")], ["/signatures", t("Signature checker")]]],
];
const NAMES = { DEVELOPMENT: "Development", STAGING: "Staging", PRODUCTION: "Production" };

/** Return the path below the environment. */
function inner() {
  return "/" + address.value.pathname.split("/").slice(3).join("/");
}

/** @param {string} theme */
function useTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("angarium.theme", theme);
}

/** True while the search lies over the page. */
export const searching = signal(false);

function Side() {
  const [open, setOpen] = useState(false);
  const path = inner();
  useEffect(() => setOpen(false), [path]);
  const here = (/** @type {string} */ to) => (to === "/" ? path === "/" : path === to || path.startsWith(to + "/"));
  const environments = session.value?.environments ?? [];
  return html`<header class=${open ? "side open" : "side"}>
    <a class="mark" href=${at()}><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 1 15 14H11L8 8 5 14H1Z" /></svg>Angarium</a>
    <select class="select" style=${{ inlineSize: "auto" }} aria-label=${t("Environment")} value=${environment.value} onChange=${(/** @type {any} */ event) => go(`/console/${segment(event.currentTarget.value)}`)}>
      ${environments.map((each) => html`<option value=${each} selected=${each === environment.value}>${NAMES[each]}</option>`)}
    </select>
    <button type="button" class="button seek" data-search onClick=${() => { searching.value = true; }}>${t("Search")} <kbd>/</kbd></button>
    <button type="button" class="button menu" aria-expanded=${open} onClick=${() => setOpen(!open)}>${t("Menu")}</button>
    <nav aria-label=${t("Pages")}>${menu().map(([group, entries]) => html`${group && html`<p class="group">${group}</p>`}
      <ul>${entries.map(([to, title]) => html`<li><a href=${at(to === "/" ? "" : to)} aria-current=${here(to) ? "page" : null}>${title}</a></li>`)}</ul>`)}
    </nav>
    <div class="tail">
      <div class="choices"><select class="select" aria-label=${t("Theme")} onChange=${(/** @type {any} */ event) => useTheme(event.currentTarget.value)}>
        ${[["", t("System theme")], ["light", t("Light")], ["dark", t("Dark")]].map(([word, text]) => html`<option value=${word} selected=${document.documentElement.dataset.theme === word}>${text}</option>`)}
      </select>
      <select class="select" aria-label=${t("Language")} onChange=${(/** @type {any} */ event) => { localStorage.setItem("angarium.locale", event.currentTarget.value); useLocale(event.currentTarget.value); }}>
        ${[["en", "English"], ["de", "Deutsch"]].map(([word, text]) => html`<option value=${word} selected=${locale.value === word}>${text}</option>`)}
      </select></div>
      <div class="row spread"><span class="quiet">${session.value?.scope === "manage" ? "" : t("Read only")}</span>
      <button type="button" class="button bare" onClick=${logout}>${t("Sign out")}</button></div>
    </div>
  </header>`;
}

/** Shows the page of the address; its module is loaded when it is first opened. */
function Outlet() {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [error, reset] = useErrorBoundary((/** @type {any} */ problem) => console.error(problem));
  const found = match(ROUTES, inner());
  const load = found?.page;
  useEffect(() => {
    reset();
    if (!load) return;
    let current = true;
    load().then(
      (module) => { if (current) setShown({ load, Page: module.Page }); },
      () => { if (current) setShown({ load, Page: Unloaded }); },
    );
    return () => { current = false; };
  }, [load]);
  if (!found) return html`<main class="page" id="main"><h1>${t("There is no such page.")}</h1><p><a href=${at()}>${t("To the overview")}</a></p></main>`;
  if (error) return html`<main class="page" id="main"><h1>${t("This page broke.")}</h1><p class="notice tone-bad">${String(error.message)}</p><p><button class="button" onClick=${reset}>${t("Show it again")}</button></p></main>`;
  if (shown?.load !== load) return html`<main class="page" id="main" aria-busy="true" />`;
  return html`<main class="page" id="main" tabindex="-1">${h(shown.Page, { key: `${environment.value} ${found.params.id ?? found.params.externalId ?? found.params.eventType ?? ""}`, ...found.params })}</main>`;
}

function Unloaded() {
  return html`<div class="notice tone-bad" role="alert"><strong>${t("This page could not be loaded.")}</strong> <button class="button" onClick=${() => location.reload()}>${t("Load again")}</button></div>`;
}

/** @param {{used: boolean}} props `used`: the login link was refused */
export function App({ used }) {
  const [Over, setOver] = useState(/** @type {any} */ (null));
  const [Seek, setSeek] = useState(/** @type {any} */ (null));
  const out = !session.value || ended.value;
  useEffect(() => { if (out) import("./login.js").then((module) => setOver(() => module.Login)); }, [out]);
  useEffect(listen, []);
  const asks = searching.value;
  useEffect(() => { if (asks) import("./search.js").then((module) => setSeek(() => module.Search)); }, [asks]);
  if (!session.value) return Over && h(Over, { used });
  return html`<a class="skip button" href="#main">${t("To the content")}</a>
    <div class="frame" inert=${ended.value}>${h(Side, {})}${h(Outlet, {})}</div>
    ${asks && Seek && h(Seek, { close: () => { searching.value = false; } })}
    ${ended.value && Over && h(Over, {})}${h(Toasts, {})}`;
}
