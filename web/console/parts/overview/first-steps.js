/** The commands for a first delivery, shown before the first destination exists. */
import { h, html } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { Shell } from "../../../shared/ui/command.js";
import { Empty } from "../../../shared/ui/table.js";
import { at } from "../../session.js";

export function FirstSteps() {
  return h(Empty, { title: t("Nothing has been delivered yet. Four commands make a first delivery:") }, [
    h(Shell, { text: "angarium listen 9000" }),
    h(Shell, { text: "angarium destinations create First http://127.0.0.1:9000/" }),
    h(Shell, { text: "angarium rules create All First '*'" }),
    h(Shell, { text: 'angarium events send hello.world --data \'{"hello": "world"}\'' }),
    html`<a class="button primary" href=${at("/destinations?new=1")}>${t("Or create a destination here")}</a>`,
  ]);
}
