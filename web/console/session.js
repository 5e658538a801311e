/** The console's session: an API key or a login code, exchanged once for a token, which is stored in this tab. */
import { computed, signal } from "../vendor/preact.js";
import { Api, renewals, use } from "../shared/api.js";
import { address } from "../shared/router.js";

const STORED = "angarium.session";
const SHORT = { DEVELOPMENT: "dev", STAGING: "sta", PRODUCTION: "pro" };
/** @typedef {{token: string, expiresAt: string, environments: (keyof typeof SHORT)[], scope: string}} Session */

/** @type {import("../vendor/preact.js").Signal<Session | null>} */
export const session = signal(null);
/** True if the server no longer accepts the token: the login covers the page, which keeps its content. */
export const ended = signal(false);
/** The environment of the address, by its name in the API. */
export const environment = computed(() => {
  const segment = address.value.pathname.split("/")[2];
  return Object.entries(SHORT).find(([, each]) => each === segment)?.[0] ?? session.value?.environments[0] ?? null;
});
/** True if the key can make changes. */
export const writes = computed(() => session.value?.scope === "manage");
export const api = new Api({
  token: () => session.value?.token ?? null,
  environment: () => environment.value,
  unauthorized: () => {
    ended.value = true;
  },
});

/** Return an environment's segment of addresses. @param {string} [name] */
export function segment(name) {
  return SHORT[/** @type {keyof typeof SHORT} */ (name ?? environment.value)] ?? "dev";
}

/** Return the address of a page in the current environment. @param {string} [path] such as `/events` */
export function at(path = "") {
  return `/console/${segment()}${path}`;
}

use({ name: "Angarium", api, at, may: () => writes.value, whole: true, whose: () => environment.value ?? "" });

const tabs = new BroadcastChannel("angarium.session");
tabs.onmessage = ({ data }) => {
  if (data === "ask" && session.value && !ended.value) tabs.postMessage(session.value);
  else if (data === "end") forget();
  else if (data?.token && !session.value) keep(data);
};

/** @param {Session} found */
function keep(found) {
  session.value = found;
  if (ended.value) renewals.value++;
  ended.value = false;
  sessionStorage.setItem(STORED, JSON.stringify(found));
}

function forget() {
  session.value = null;
  sessionStorage.removeItem(STORED);
}

/** Find the session of this tab or of another one, for at most 150 ms. */
export async function resume() {
  const stored = sessionStorage.getItem(STORED);
  if (stored) return keep(JSON.parse(stored));
  tabs.postMessage("ask");
  return new Promise((done) => {
    const stop = session.subscribe((found) => {
      if (found) setTimeout(() => done(undefined));
    });
    setTimeout(() => {
      stop();
      done(undefined);
    }, 150);
  });
}

/** Exchange a key or a code for a session. Throws ApiError. @param {{key?: string, code?: string}} given */
export async function login({ key, code }) {
  const asking = new Api({ token: () => key ?? code ?? null, environment: () => null, unauthorized: () => undefined });
  keep(await asking.call("POST", "/console/sessions", { body: {} }));
}

/** Exchange the code of a login link, and remove it from the address. Returns true if it was refused. */
export async function codeRefused() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return false;
  history.replaceState(null, "", location.pathname + location.search);
  return login({ code }).then(
    () => false,
    () => true,
  );
}

/** End the session here, in other tabs and on the server. */
export async function logout() {
  await api.call("DELETE", "/console/sessions").catch(() => undefined);
  tabs.postMessage("end");
  forget();
}
