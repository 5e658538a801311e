/** The lower half of the overview: the last minute as a chart, and the last changes. It is loaded after the first view. */
import { h, html } from "../../../vendor/preact.js";
import { words } from "../../../shared/format.js";
import { t } from "../../../shared/i18n.js";
import { useResource } from "../../../shared/resource.js";
import { Chart } from "../../../shared/ui/chart.js";
import { Skeleton } from "../../../shared/ui/empty.js";
import { Failure } from "../../../shared/ui/failure.js";
import { Moment } from "../../../shared/ui/moment.js";
import { api, at } from "../../session.js";

function Changes() {
  const found = useResource((signal) => api.get("/audit-logs", { limit: 6 }, signal), []);
  return html`<section class="panel"><header><h2>${t("Last changes")}</h2><a href=${at("/audit")}>${t("Audit log")}</a></header>
    ${
      found.error && !found.data
        ? h(Failure, { error: found.error, retry: found.reload })
        : !found.data
          ? h(Skeleton, { rows: 6 })
          : html`<table class="table plain"><tbody>${found.data.items.map(
              (/** @type {any} */ each) => html`<tr key=${each.id}>
      <td><a class="opener" href=${at(`/audit?objectId=${each.objectId}`)}>${words(each.action.replace(".", " "))}</a></td><td class="number quiet">${h(Moment, { at: each.createdAt, relative: true })}</td></tr>`,
            )}</tbody></table>`
    }
  </section>`;
}

/** @param {{series: any[]}} props `series`: counts of each second */
export function Below({ series }) {
  const values = (/** @type {string} */ name) => series.map((each) => each[name]);
  return html`<div class="two">
    <section class="panel"><header><h2>${t("The last minute")}</h2></header><div class="inside">${h(Chart, {
      times: values("at"),
      unit: t("per second"),
      series: [
        { name: t("Accepted"), tone: "muted", dashed: true, values: values("accepted") },
        { name: t("Delivered"), tone: "accent", values: values("delivered") },
        { name: t("Failed attempts"), tone: "bad", values: values("failed") },
      ],
    })}</div></section>
    ${h(Changes, {})}
  </div>`;
}
