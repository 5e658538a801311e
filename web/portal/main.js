/** The entry of the portal: its bar, the page of the address, and the notices about the end of the session. */
import { h, html, render, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "../shared/i18n.js";
import { may } from "../shared/api.js";
import { lazily } from "../shared/resource.js";
import { address, inner, Outlet, page, reveal, start } from "../shared/router.js";
import { at, begin, context, customer, host, refusal, renew, state, workspace } from "./session.js";

const Failure = lazily(() => import("../shared/ui/failure.js").then((found) => found.Failure));

/** @type {import("../shared/router.js").Routes} */
const ROUTES = [
  ["/", page(() => import("../shared/pages/destinations.js"))],
  ["/endpoints", page(() => import("../shared/pages/destinations.js"))],
  ["/endpoints/:id", page(() => import("./pages/endpoint.js"))],
  ["/endpoints/:id/script", page(() => import("../shared/pages/bench.js"))],
  ["/endpoints/:id/:tab", page(() => import("./pages/endpoint.js"))],
  ["/deliveries", page(() => import("../shared/pages/deliveries.js"))],
  ["/deliveries/:id", page(() => import("../shared/pages/delivery.js"))],
  ["/replays", page(() => import("../shared/pages/replays.js"))],
  ["/replays/:id", page(() => import("../shared/pages/replay.js"))],
  ["/types", page(() => import("./pages/types.js"))],
  ["/types/:eventType", page(() => import("./pages/type.js"))],
  ["/signatures", page(() => import("../shared/pages/signatures.js"))],
];

function Bar() {
  const brand = context.value?.branding ?? {};
  const name = brand.name ?? context.value?.workspaceName;
  const here = inner();
  const bar = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => reveal(bar.current), [here]);
  const tabs = /** @type {[string, string, boolean][]} */ ([
    ["/endpoints", t("Endpoints"), here === "/" || here.startsWith("/endpoints")],
    ["/deliveries", t("Deliveries"), here.startsWith("/deliveries")],
    ...(may("replay")
      ? [/** @type {[string, string, boolean]} */ (["/replays", t("Recoveries"), here.startsWith("/replays")])]
      : []),
    ["/types", t("Event types"), here.startsWith("/types")],
    ["/signatures", t("Signature checker"), here.startsWith("/signatures")],
  ]);
  return html`<header class="bar">
    ${!host && html`<span class="brand">${brand.logoUrl ? html`<img src=${brand.logoUrl} alt=${name} referrerpolicy="no-referrer" />` : name}</span>`}
    <nav class="tabs" aria-label=${t("Pages")} ref=${bar}>${tabs.map(([path, title, now]) => html`<a key=${path} href=${at(path)} aria-current=${now ? "page" : null}>${title}</a>`)}</nav>
    <span class="tail row wrap">
      ${!host && html`<span class="quiet cut" title=${t("Customer")}>${context.value?.customerExternalId}</span>`}
      ${brand.supportUrl && html`<a href=${brand.supportUrl} target="_blank" rel="noopener">${t("Help")}</a>`}
      ${!host && context.value?.returnUrl && html`<a href=${context.value.returnUrl}>${t("Back")}</a>`}
    </span>
  </header>`;
}

/** The notice from a minute before the end. */
function Ending() {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(false);
  if (state.value === "going") return null;
  const ended = state.value === "ended";
  const back = context.value?.returnUrl;
  const go = async () => {
    setBusy(true);
    setRefused(!(await renew()));
    setBusy(false);
  };
  return html`<div class="notice session tone-warn" role="alert"><span><strong>${ended ? t("The session has ended.") : t("The session ends within a minute.")}</strong>
      ${ended && html` ${t("Your input is kept. You can save it when the session continues.")}`} ${refused && t("Sign in to your account again.")}</span>
    <span class="row">${host && html`<button type="button" class="button primary" disabled=${busy} onClick=${go}>${t("Continue")}</button>`}
      ${back && (refused || !host) && html`<a class="button" href=${back} target=${host ? "_top" : null}>${t("Back to your account")}</a>`}</span></div>`;
}

/** The reason for an empty page. */
function Refused() {
  const why = refusal.value;
  const told = /** @type {Record<string, string>} */ ({
    none: t("Open this page from your account: it needs a session."),
    foreign: t("This session belongs to another workspace."),
    ended: t("The session has ended. Open this page from your account again."),
  });
  return html`<main class="page" id="main"><h1>${t("Webhooks")}</h1>${
    typeof why === "string"
      ? html`<p class="notice tone-warn" role="alert">${told[why]}</p>`
      : why && h(Failure, { error: why, retry: () => location.reload() })
  }${host && html`<p><button type="button" class="button primary" onClick=${renew}>${t("Continue")}</button></p>`}</main>`;
}

function App() {
  if (!context.value) return h(Refused, {});
  // A disabled fieldset disables its fields and keeps their content.
  return html`<a class="skip button" href="#main">${t("To the content")}</a>${h(Ending, {})}
    <fieldset class=${host ? "frame embedded" : "frame"} disabled=${state.value === "ended"} key=${customer.value}>${h(Bar, {})}${h(Outlet, { routes: ROUTES, home: [at(), t("To the endpoints")] })}</fieldset>
    <div class="toasts" role="status" />`;
}

const app = /** @type {Element} */ (document.getElementById("app"));
start(`/portal/${workspace}`, ROUTES);
host?.measure(app);
await begin();
address.value = new URL(location.href);
render(h(App, {}), app);
