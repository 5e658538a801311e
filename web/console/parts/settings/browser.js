/** The keys of the console, and the switch for single keys, which this browser stores. */
import { html, useState } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { enabled } from "../../keyboard.js";

/** @returns {[string, string][]} */
const keys = () => [
  ["/", t("Search")],
  ["j k ↓ ↑", t("Next and previous row")],
  ["Enter", t("Open the row")],
  ["x", t("Pick the row")],
  ["Esc", t("Back to the same row")],
  ["n", t("New")],
  ["r", t("Retry, or replay")],
  ["p", t("Freeze or unfreeze the page")],
  ["g o", t("Overview")],
  ["g u", t("Pulse")],
  ["g y", t("Analytics")],
  ["g d", t("Destinations")],
  ["g e", t("Events")],
  ["g l", t("Deliveries")],
  ["g q", t("Dead letters")],
  ["g p", t("Replays")],
  ["g r", t("Routing rules")],
  ["g c", t("Customers")],
  ["g a", t("Audit log")],
  ["g s", t("Settings")],
  ["?", t("This page")],
];

export function Browser() {
  const [on, setOn] = useState(enabled());
  const turn = () => {
    if (on) localStorage.setItem("angarium.keys", "off");
    else localStorage.removeItem("angarium.keys");
    setOn(!on);
  };
  return html`<section class="panel"><header><h2>${t("Keyboard")}</h2><label class="check"><input type="checkbox" checked=${on} onChange=${turn} />${t("Single-key shortcuts")}</label></header>
    <dl class="shorts inside">${keys().map(([key, what]) => html`<dt>${key.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd>`)}</dl></section>`;
}
