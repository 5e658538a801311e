/** A table whose rows open: the first cell has a real link, j and k move, x picks, and the row that was left has the focus again. */
import { h, html, useEffect, useRef } from "../../vendor/preact.js";
import { locale, t } from "../i18n.js";
import { lazily } from "../resource.js";
import { lastRow } from "../router.js";
import { Empty, Skeleton } from "./empty.js";

const Failure = lazily(() => import("./failure.js").then((found) => found.Failure));

/**
 * @template Row
 * @typedef {{title: string, cell: (row: Row) => any, on?: "main" | "side" | "sub" | "end", number?: boolean, width?: string,
 *   sort?: string, named?: boolean}} Column `on`: the cell's place on narrow screens; without it the cell is not shown there.
 *   `sort`: the order that a click on the title asks for. `named`: narrow screens show the title beside the value
 */

/**
 * @param {{columns: Column<any>[], list: {items: any[] | null, error?: any, stale?: boolean, reload?: () => void},
 *   id: (row: any) => string, href?: (row: any) => string, label: string, empty?: any, sorted?: string,
 *   sort?: (order: string) => void, picked?: Set<string>, pick?: (id: string) => void, skeleton?: number}} props
 *   `list`: what `usePages` returns
 */
export function Table({
  columns,
  list: { items: rows, error, stale, reload: retry },
  id,
  href,
  label,
  empty,
  sorted,
  sort,
  picked,
  pick,
  skeleton,
}) {
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const returned = useRef(false);
  const slots = useRef(/** @type {Map<string, number>} */ (new Map()));
  const ids = rows?.map(id) ?? [];
  slots.current = placed(slots.current, ids);
  useEffect(() => {
    if (returned.current || !rows?.length) return;
    returned.current = true;
    const row = lastRow();
    const link = row ? body.current?.querySelector(`[data-row="${CSS.escape(row)}"]`) : null;
    if (link instanceof HTMLElement) link.focus();
  }, [rows]);
  if (error && !rows) return h(Failure, { error, retry });
  if (!rows) return h(Skeleton, { rows: skeleton ?? 12 });
  if (!rows.length) return empty ?? h(Empty, { title: t("Nothing here yet.") });
  return html`${error && h(Failure, { error, retry })}<table class="table" aria-label=${label} aria-busy=${stale ? "true" : null}>
    <thead><tr>
      ${pick && html`<th class="pick" scope="col"><span class="unseen">${t("Picked")}</span></th>`}
      ${columns.map(
        (
          each,
        ) => html`<th scope="col" class=${each.number ? "number" : null} style=${each.width ? { inlineSize: each.width } : null} aria-sort=${each.sort && each.sort === sorted ? "descending" : null}>
        ${each.sort && sort ? html`<button type="button" onClick=${() => sort(each.sort ?? "")}>${each.title}${each.sort === sorted ? " ↓" : ""}</button>` : each.title}
      </th>`,
      )}
    </tr></thead>
    <tbody ref=${body}>${rows.map((row, index) =>
      h(Row, {
        key: slots.current.get(ids[index]),
        name: ids[index],
        row,
        columns,
        href: href?.(row),
        pick,
        picked: picked?.has(ids[index]),
      }),
    )}</tbody>
  </table>`;
}

/**
 * Return the places of rows: a row keeps its own, and a new row takes that of one that has gone, so that other rows of a
 * list are written into the elements of the former ones. @param {Map<string, number>} before @param {string[]} ids
 */
export function placed(before, ids) {
  const kept = new Set(ids);
  const free = [...before].filter(([id]) => !kept.has(id)).map(([, place]) => place);
  let next = Math.max(-1, ...before.values()) + 1;
  return new Map(ids.map((id) => [id, before.get(id) ?? free.shift() ?? next++]));
}

/**
 * A row. It reads the language, so the signals' rule holds for it: it is drawn anew when a prop is another one. A page whose
 * `columns` and `pick` stay the same draws the changed rows alone.
 * @param {{name: string, row: any, columns: Column<any>[], href?: string, pick?: (id: string) => void, picked?: boolean}} props
 */
function Row({ name, row, columns, href, pick, picked }) {
  void locale.value;
  return html`<tr>
    ${pick && html`<td class="pick"><input type="checkbox" checked=${picked} onChange=${() => pick(name)} aria-label=${t("Pick {id}", { id: name })} /></td>`}
    ${columns.map(
      (
        each,
        index,
      ) => html`<td class=${`${each.number ? "number" : ""} ${each.on ? `on-${each.on}` : ""}`} data-title=${each.named ? each.title : null}>
      ${index === 0 && href ? html`<a class="opener" data-row=${name} href=${href}>${each.cell(row)}</a>` : each.cell(row)}
    </td>`,
    )}
  </tr>`;
}
