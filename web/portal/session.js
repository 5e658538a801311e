/** The portal's session: a token from the address or the host page, renewed before it ends. In frames it stays in memory. */
import { batch, computed, signal } from "../vendor/preact.js";
import { Api, ApiError, renewals, use } from "../shared/api.js";
import { useLocale } from "../shared/i18n.js";
import { address } from "../shared/router.js";
import { show } from "./theme.js";

/** True in a frame of another page. */
const embedded = window.parent !== window;
const STORED = "angarium.portal";
const RENEWED = 0.75; // of a token's life
const AGAIN_MS = 10_000; // between two attempts at a renewal
const WARNED_MS = 60_000; // before the end
const ANSWERED_MS = 10_000; // for the host page's token; afterwards it counts as refused
/** The portal's texts that replace those of the console. */
const WORDS = {
  en: {
    Destination: "Endpoint",
    Destinations: "Endpoints",
    "New destination": "New endpoint",
    "A destination is an address that events are delivered to.":
      "An endpoint is the address that your events are delivered to.",
    "No destination matches.": "No endpoint matches.",
    "All destinations": "All endpoints",
    "By destination": "By endpoint",
    "This destination has received no event yet.": "This endpoint has received no event yet.",
    "The secret is shown once: when the destination is created, and after a rotation. If you do not have it, rotate it. For 24 hours, requests are also signed with the previous secret.":
      "The secret is shown once: when the endpoint is created, and after a rotation. If you do not have it, rotate it. For 24 hours, requests are also signed with the previous secret.",
    "Events without a delivery to the destination": "Events without a delivery to the endpoint",
    "No destination has this name.": "No endpoint has this name.",
    "Your key does not allow this.": "This is not allowed here.",
    "Check the id and the environment at the top left.": "Check the id.",
    "Sign in again; this page stays as it is.": "Continue at the top of this page; it stays as it is.",
    "Such as order.* invoice.paid, or * for every type. This also creates a routing rule.":
      "Such as order.* invoice.paid, or * for every type.",
  },
  de: {
    "Your key does not allow this.": "Das ist hier nicht erlaubt.",
    "Check the id and the environment at the top left.": "Prüfen Sie die Kennung.",
    "Sign in again; this page stays as it is.": "Setzen Sie oben auf dieser Seite fort; sie bleibt, wie sie ist.",
    "Such as order.* invoice.paid, or * for every type. This also creates a routing rule.":
      "Etwa order.* invoice.paid, oder * für jeden Typ.",
  },
};

/** @typedef {import("./theme.js").Look} Look the looks of a host page */
/** @typedef {{workspaceId: string, workspaceName: string, customerAccountId: string, customerExternalId: string, expiresAt: string,
 *   branding: any, returnUrl: string | null, permissions: Record<string, boolean>}} Context */

/** @type {import("../vendor/preact.js").Signal<Context | null>} */
export const context = signal(null);
/** The reason for a missing session: "none" (no token), "foreign" (of another workspace), "ended", or an error of the API. */
export const refusal = signal(/** @type {string | ApiError | null} */ (null));
/** The state of the session: "going", "ending" (within a minute, unrenewed), "ended" (read-only until it is renewed). */
export const state = signal("going");
/** A session of another customer reloads the pages. */
export const customer = computed(() => context.value?.customerAccountId ?? "");

/** @type {string | null} */
let token = null;
let timers = [0];
/** @type {Look & {token?: string}} what the address gave */
let given = {};

/** Remove token and looks from the address. */
function read() {
  given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (location.hash) history.replaceState(history.state, "", location.pathname + location.search);
}
read();

export const workspace = location.pathname.split("/")[2] ?? "";
/** The page that embeds the portal. It sends tokens and looks, and receives the height, through one port. */
class Host {
  /** @param {(look: Look) => void} look the page's looks, at each change */
  constructor(look) {
    /** @type {MessagePort | null} */
    this.port = null;
    this.look = look;
    /** @type {((token: string | null) => void)[]} */
    this.waiting = [];
    /** @type {Promise<void>} */
    this.met = new Promise((done) => {
      const meet = (/** @type {MessageEvent} */ event) => {
        // The browser allows only the workspace's origins as parent (frame-ancestors); others can still
        // send messages.
        if (event.source !== window.parent || event.origin === "null") return;
        if (event.data?.angarium !== "port" || !event.ports[0]) return;
        removeEventListener("message", meet);
        this.port = event.ports[0];
        this.port.onmessage = ({ data }) => this.hear(data);
        look(event.data.look ?? {});
        done();
      };
      addEventListener("message", meet);
    });
    // The message has no data. The element answers through the port, and only to this origin.
    window.parent.postMessage({ angarium: "ready" }, "*");
  }

  /** @param {any} data */
  hear(data) {
    if (data?.type === "look") this.look(data.look ?? {});
    if (data?.type !== "token") return;
    const given = typeof data.token === "string" ? data.token : null;
    for (const done of this.waiting.splice(0)) done(given);
  }

  /** Ask the page for a token of its customer; null if it has none. @returns {Promise<string | null>} */
  async token() {
    const late = new Promise((done) => setTimeout(done, ANSWERED_MS, null));
    const given = this.met.then(
      () =>
        new Promise((done) => {
          this.waiting.push(done);
          this.port?.postMessage({ type: "token" });
        }),
    );
    return /** @type {any} */ (Promise.race([given, late]));
  }

  /** Send the height of the portal to the page at each change. @param {Element} element */
  measure(element) {
    new ResizeObserver(() => {
      this.port?.postMessage({ type: "height", height: Math.ceil(element.getBoundingClientRect().height) });
    }).observe(element);
  }
}

/** @type {Look} */
let asked = {};
export const host = embedded
  ? new Host((look) => {
      asked = look;
      dress();
    })
  : null;

export const api = new Api({
  token: () => token,
  environment: () => null,
  unauthorized: () => {
    if (context.value) state.value = "ended";
  },
});

/** @param {string} [path] */
export const at = (path = "") =>
  `/portal/${workspace}${path.replace(/^\/destinations/, "/endpoints").replace(/^\/bench\/([^/]+)/, "/endpoints/$1/script")}`;

use({
  name: "Webhooks",
  api,
  at,
  may: (ability) => context.value?.permissions[ability] ?? false,
  whole: false,
  whose: () => customer.value,
});

/** Show the known looks. */
function dress() {
  const language = show(asked, given, context.value?.branding ?? null);
  return useLocale(language ?? navigator.language, WORDS);
}

/**
 * Take a token. The same customer continues. Another customer gets new pages, without data of the previous one.
 * @param {string} next @returns {Promise<boolean>}
 */
async function take(next) {
  const asking = new Api({ token: () => next, environment: () => null, unauthorized: () => undefined });
  try {
    const answer = await asking.open("GET", "/embed/context", {});
    const found = await answer.json();
    if (found.workspaceId !== workspace) {
      refusal.value = "foreign";
      return false;
    }
    const another = context.value && context.value.customerAccountId !== found.customerAccountId;
    if (another) history.replaceState(null, "", at());
    token = next;
    batch(() => {
      if (another) address.value = new URL(location.href);
      if (state.value === "ended") renewals.value++;
      refusal.value = null;
      context.value = found;
      state.value = "going";
    });
    if (!embedded) sessionStorage.setItem(STORED, next);
    // By the server's clock: the reader's can be wrong by more than the life of a session.
    const told = Date.parse(answer.headers.get("date") ?? "") || Date.now();
    plan(Date.parse(found.expiresAt) - told);
    await dress();
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (!context.value) refusal.value = error.status === 401 ? "ended" : error;
    return false;
  }
}

/** Renew at three quarters of the life; warn a minute before the end. @param {number} life in ms */
function plan(life) {
  timers.forEach(clearTimeout);
  const end = Date.now() + life;
  timers = [
    window.setTimeout(again, life * RENEWED, end),
    window.setTimeout(warn, Math.max(life - WARNED_MS, life * RENEWED + 1000), end),
    window.setTimeout(stop, life),
  ];
}

/** @param {number} end */
async function again(end) {
  if (!host || (await renew()) || Date.now() + AGAIN_MS > end) return;
  timers[0] = window.setTimeout(again, AGAIN_MS, end);
}

function warn() {
  if (state.value === "going") state.value = "ending";
}

function stop() {
  state.value = "ended";
  sessionStorage.removeItem(STORED);
}

/** Ask the host page for a token. Returns True if the session continues. */
export async function renew() {
  const next = await host?.token();
  return next ? take(next) : false;
}

/** Find the token: the address's, this tab's, or the host page's. */
export async function begin() {
  await dress();
  // Another link in this tab changes only the fragment: the page is not loaded again.
  addEventListener("hashchange", () => {
    const before = given;
    read();
    const { token: next, ...looks } = given;
    given = { ...before, ...looks };
    if (next) take(next);
  });
  const stored = embedded ? null : sessionStorage.getItem(STORED);
  const first = given.token ?? stored ?? (await host?.token());
  delete given.token;
  if (!first) refusal.value = "none";
  else await take(first);
}
