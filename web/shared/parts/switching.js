/** The actions on the picked destinations of a list: switch them off, or on again. */
import { h, html } from "../../vendor/preact.js";
import { tn } from "../i18n.js";
import { Picked } from "../ui/table.js";
import { act, Button } from "../act.js";
import { api } from "../api.js";

/** @param {{picked: Set<string>, rows: any[], done: () => void}} props `rows`: summaries */
export function Switching({ picked, rows, done }) {
  const chosen = rows.map(({ destination }) => destination).filter(({ id }) => picked.has(id));
  const on = chosen.filter(({ status }) => status === "ACTIVE");
  const off = chosen.filter(({ status }) => status === "DISABLED");
  const turn = async (/** @type {any[]} */ all, /** @type {string} */ verb) => {
    for (const { id } of all) if (!(await act(() => api.post(`/destinations/${id}/${verb}`)))) break;
    done();
  };
  return h(
    Picked,
    { count: chosen.length, none: done },
    html`${on.length > 0 && h(Button, { act: () => turn(on, "disable") }, tn("Switch off {n} destination", "Switch off {n} destinations", on.length))}
    ${off.length > 0 && h(Button, { act: () => turn(off, "enable") }, tn("Switch on {n} destination", "Switch on {n} destinations", off.length))}`,
  );
}
