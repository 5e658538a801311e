/** The dead letters one by one: pick some, and retry or discard these. */
import { h, html, useMemo } from "../../vendor/preact.js";
import { locale, t, tn } from "../../shared/i18n.js";
import { usePages } from "../../shared/resource.js";
import { More } from "../../shared/ui/more.js";
import { Picked, Table, usePicks } from "../../shared/ui/table.js";
import { act, Button } from "../../shared/act.js";
import { columns, link } from "../../shared/parts/deliveries.js";
import { api, writes } from "../session.js";

/** @param {{given: import("../../shared/api.js").Query, empty: any}} props `given`: filters, as the API takes them */
export function Letters({ given, empty }) {
  const found = usePages(api, "/dlq", given);
  const { picked, pick, none } = usePicks(JSON.stringify(given));
  const shown = useMemo(() => columns({ dead: true }), [locale.value]);
  const each = async (/** @type {string} */ verb) => {
    const answer = await act(() => api.post(`/dlq/${verb}`, { deliveryIds: [...picked] }));
    if (!answer) return;
    none();
    found.reload();
  };
  return html`${
    picked.size > 0 &&
    h(
      Picked,
      { count: picked.size, none },
      html`${h(Button, { act: () => each("retry"), keys: "r" }, tn("Retry {n}", "Retry {n}", picked.size))}
    ${h(Button, { act: () => each("discard"), kind: "danger" }, tn("Discard {n}", "Discard {n}", picked.size))}`,
    )
  }
    ${h(Table, { label: t("Dead letters"), columns: shown, list: found, id: (row) => row.deliveryId, href: link, empty, skeleton: 18, ...(writes.value ? { picked, pick } : {}) })}
    ${h(More, { list: found })}`;
}
