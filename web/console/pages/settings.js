/** The settings of the workspace (keys, the portal's origins and brand, customers' permissions) and of this browser. */
import { h, html } from "../../vendor/preact.js";
import { t } from "../../shared/i18n.js";
import { Tabs } from "../../shared/ui/tabs.js";
import { query } from "../../shared/router.js";
import { Head } from "../../shared/head.js";
import { Browser } from "../parts/settings/browser.js";
import { Keys } from "../parts/settings/keys.js";
import { System } from "../parts/settings/system.js";
import { Portal } from "../parts/settings/portal.js";
import { at, writes } from "../session.js";

/** @type {Record<string, any>} */
const VIEWS = { keys: Keys, portal: Portal, browser: Browser, system: System };

export function Page() {
  const { tab = "keys" } = query();
  const View = VIEWS[tab] ?? Keys;
  return html`${h(Head, { title: t("Settings") })}
    ${h(Tabs, {
      label: t("Settings"),
      now: tab,
      tabs: [
        ["keys", t("API keys"), at("/settings")],
        ["portal", t("Customers' portal"), at("/settings?tab=portal")],
        ["browser", t("Keyboard"), at("/settings?tab=browser")],
        .../** @type {[string, string, string][]} */ (
          writes.value ? [["system", t("System"), at("/settings?tab=system")]] : []
        ),
      ],
    })}
    ${h(View, {})}`;
}
