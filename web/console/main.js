/** The entry of the console, and the frame of every page: navigation, environment, the page of the address, and dialogs over it. */
import { h, html, render, signal, useEffect, useState } from "../vendor/preact.js";
import { locale, preferred, t, useLocale } from "../shared/i18n.js";
import { lazily } from "../shared/resource.js";
import { address, go, inner, Outlet, page, start } from "../shared/router.js";
import { listen } from "./keyboard.js";
import { at, codeRefused, ended, environment, logout, resume, segment, session } from "./session.js";

const Login = lazily(() => import("./login.js").then((found) => found.Login));
const Search = lazily(() => import("./search.js").then((found) => found.Search));

/** @type {import("../shared/router.js").Routes} */
const ROUTES = [
  ["/", page(() => import("./pages/overview.js"))],
  ["/pulse", page(() => import("./pages/pulse.js"))],
  ["/analytics", page(() => import("./pages/analytics.js"))],
  ["/destinations", page(() => import("../shared/pages/destinations.js"))],
  ["/destinations/:id", page(() => import("./pages/destination.js"))],
  ["/destinations/:id/:tab", page(() => import("./pages/destination.js"))],
  ["/events", page(() => import("./pages/events.js"))],
  ["/events/:id", page(() => import("./pages/event.js"))],
  ["/deliveries", page(() => import("../shared/pages/deliveries.js"))],
  ["/deliveries/:id", page(() => import("../shared/pages/delivery.js"))],
  ["/dlq", page(() => import("./pages/dlq.js"))],
  ["/replays", page(() => import("../shared/pages/replays.js"))],
  ["/replays/:id", page(() => import("../shared/pages/replay.js"))],
  ["/rules", page(() => import("./pages/rules.js"))],
  ["/schemas", page(() => import("./pages/schemas.js"))],
  ["/schemas/:eventType", page(() => import("./pages/schema.js"))],
  ["/customers", page(() => import("./pages/customers.js"))],
  ["/customers/:externalId", page(() => import("./pages/customer.js"))],
  ["/bench/:id", page(() => import("../shared/pages/bench.js"))],
  ["/audit", page(() => import("./pages/audit.js"))],
  ["/settings", page(() => import("./pages/settings.js"))],
  ["/signatures", page(() => import("../shared/pages/signatures.js"))],
  ["/components", page(() => import("./pages/components.js"))],
];

/** The navigation: a group, its entries (path, title). @returns {[string, [string, string][]][]} */
const menu = () => [
  [
    "",
    [
      ["/", t("Overview")],
      ["/pulse", t("Pulse")],
      ["/analytics", t("Analytics")],
      ["/destinations", t("Destinations")],
    ],
  ],
  [
    t("Traffic"),
    [
      ["/events", t("Events")],
      ["/deliveries", t("Deliveries")],
      ["/dlq", t("Dead letters")],
      ["/replays", t("Replays")],
    ],
  ],
  [
    t("Configuration"),
    [
      ["/rules", t("Routing rules")],
      ["/schemas", t("Schemas")],
      ["/customers", t("Customers")],
    ],
  ],
  [
    t("Workspace"),
    [
      ["/audit", t("Audit log")],
      ["/settings", t("Settings")],
      ["/signatures", t("Signature checker")],
    ],
  ],
];
const NAMES = { DEVELOPMENT: "Development", STAGING: "Staging", PRODUCTION: "Production" };

/** @param {string} theme */
function useTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("angarium.theme", theme);
}

/** True while the search covers the page. */
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
    <button type="button" class="button seek" data-search onClick=${() => {
      searching.value = true;
    }}>${t("Search")} <kbd>/</kbd></button>
    <button type="button" class="button menu" aria-expanded=${open} onClick=${() => setOpen(!open)}>${t("Menu")}</button>
    <nav aria-label=${t("Pages")}>${menu().map(
      ([group, entries]) => html`${group && html`<p class="group">${group}</p>`}
      <ul>${entries.map(([to, title]) => html`<li><a href=${at(to === "/" ? "" : to)} aria-current=${here(to) ? "page" : null}>${title}</a></li>`)}</ul>`,
    )}
    </nav>
    <div class="tail">
      <div class="choices"><select class="select" aria-label=${t("Theme")} onChange=${(/** @type {any} */ event) => useTheme(event.currentTarget.value)}>
        ${[
          ["", t("System theme")],
          ["light", t("Light")],
          ["dark", t("Dark")],
        ].map(
          ([word, text]) =>
            html`<option value=${word} selected=${document.documentElement.dataset.theme === word}>${text}</option>`,
        )}
      </select>
      <select class="select" aria-label=${t("Language")} onChange=${(/** @type {any} */ event) => {
        localStorage.setItem("angarium.locale", event.currentTarget.value);
        useLocale(event.currentTarget.value);
      }}>
        ${[
          ["en", "English"],
          ["de", "Deutsch"],
        ].map(([word, text]) => html`<option value=${word} selected=${locale.value === word}>${text}</option>`)}
      </select></div>
      <div class="row spread">${session.value?.scope !== "manage" && html`<span class="quiet">${t("Read only")}</span>`}
      <button type="button" class="button bare" onClick=${logout}>${t("Sign out")}</button></div>
    </div>
  </header>`;
}

/** @param {{used: boolean}} props `used`: the login link was refused */
function App({ used }) {
  const out = !session.value;
  useEffect(listen, []);
  if (out) return h(Login, { used });
  return html`<a class="skip button" href="#main">${t("To the content")}</a>
    <div class="frame" inert=${ended.value}>${h(Side, {})}${h(Outlet, { routes: ROUTES, home: [at(), t("To the overview")], place: environment.value ?? "" })}</div>
    ${
      searching.value &&
      h(Search, {
        close: () => {
          searching.value = false;
        },
      })
    }
    ${ended.value && h(Login, { used: false })}<div class="toasts" role="status" />`;
}

document.documentElement.dataset.theme = localStorage.getItem("angarium.theme") ?? "";
const [used] = await Promise.all([codeRefused(), useLocale(preferred())]);
if (!session.value) await resume();
address.value = new URL(location.href);
start("/console", ROUTES);
session.subscribe((found) => {
  const given = location.pathname.split("/")[2];
  if (!found) return;
  if (!given) history.replaceState(null, "", at());
  else if (!found.environments.includes(/** @type {any} */ (environment.value))) return go(at());
  address.value = new URL(location.href);
});
render(h(App, { used }), /** @type {Element} */ (document.getElementById("app")));
