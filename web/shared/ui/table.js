/** A table whose rows open: the first cell has a real link, j and k move, x picks, and the row that was left has the focus again. */
import { h, html, useEffect, useRef } from "../../vendor/preact.js";
import { t } from "../i18n.js";
import { lazily } from "../resource.js";
import { lastRow } from "../router.js";
import { Empty, Skeleton } from "./empty.js";

const Failure = lazily(() => import("./failure.js").then((found) => found.Failure));

/**
 * @template Row
 * @typedef {{title: string, cell: (row: Row) => any, on?: "main" | "side" | "sub" | "end", number?: boolean, width?: string,
 *   sort?: string}} Column `on`: the cell's place on narrow screens; without it the cell is not shown there. `sort`: the order
 *   that a click on the title asks for
 */

/**
 * @param {{columns: Column<any>[], rows: any[] | null, error?: any, loading?: boolean, id: (row: any) => string,
 *   href?: (row: any) => string, label: string, empty?: any, retry?: () => void, sorted?: string,
 *   sort?: (order: string) => void, picked?: Set<string>, pick?: (id: string) => void, fresh?: Set<string>, skeleton?: number}} props
 */
export function Table({
  columns,
  rows,
  error,
  id,
  href,
  label,
  empty,
  retry,
  sorted,
  sort,
  picked,
  pick,
  fresh,
  skeleton,
}) {
  const body = useRef(/** @type {HTMLTableSectionElement | null} */ (null));
  const returned = useRef(false);
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
  return html`${error && h(Failure, { error, retry })}<table class="table" aria-label=${label}>
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
    <tbody ref=${body}>${rows.map((row) => {
      const key = id(row);
      return html`<tr key=${key} class=${fresh?.has(key) ? "fresh" : null}>
        ${pick && html`<td class="pick"><input type="checkbox" checked=${picked?.has(key)} onChange=${() => pick(key)} aria-label=${t("Pick {id}", { id: key })} /></td>`}
        ${columns.map(
          (each, index) => html`<td class=${`${each.number ? "number" : ""} ${each.on ? `on-${each.on}` : ""}`}>
          ${index === 0 && href ? html`<a class="opener" data-row=${key} href=${href(row)}>${each.cell(row)}</a>` : each.cell(row)}
        </td>`,
        )}
      </tr>`;
    })}</tbody>
  </table>`;
}
