/** The entry of the console: the session first, then the shell. */
import { h, render } from "../vendor/preact.js";
import { preferred, useLocale } from "../shared/i18n.js";
import { address, go, start } from "../shared/router.js";
import { at, environment, login, resume, session } from "./session.js";
import { App } from "./shell.js";

document.documentElement.dataset.theme = localStorage.getItem("angarium.theme") ?? "";

/** Exchange the code of a login link, and take it out of the address. Returns true where it was refused. */
async function codeRefused() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return false;
  history.replaceState(null, "", location.pathname + location.search);
  return login({ code }).then(() => false, () => true);
}

const [used] = await Promise.all([codeRefused(), useLocale(preferred())]);
if (!session.value) await resume();
address.value = new URL(location.href);
start("/console");
session.subscribe((found) => {
  const given = location.pathname.split("/")[2];
  if (!found) return;
  if (!given) history.replaceState(null, "", at());
  else if (!found.environments.includes(/** @type {any} */ (environment.value))) return go(at());
  address.value = new URL(location.href);
});
render(h(App, { used }), /** @type {Element} */ (document.getElementById("app")));
