/** A table whose rows open: the first cell has a real link, j and k move, x picks, and after a return the row that was opened has the focus. */
import { h, html, useCallback, useEffect, useRef, useState } from "../../vendor/preact.js";
import { locale, t, tn } from "../i18n.js";
import { lazily } from "../resource.js";
import { lastRow } from "../router.js";

const Failure = lazily(() => import("./failure.js").then((found) => found.Failure));

/**
 * @template Row
 * @typedef {{title: string, cell: (row: Row) => any, on?: "main" | "side" | "sub" | "end", number?: boolean, width?: string,
 *   sort?: string, named?: boolean, wide?: boolean}} Column `on`: the cell's place on narrow screens; without it the cell is not shown there.
 *   `sort`: the order after a click on the title. `named`: narrow screens show the title next to the value.
 *   `wide`: only wide screens have room for it
 */

/**
 * @param {{columns: Column<any>[], list: {items: any[] | null, error?: any, stale?: boolean, reload?: () => void},
 *   id: (row: any) => string, href?: (row: any) => string, label: string, empty?: any, sorted?: string,
 *   sort?: (order: string) => void, picked?: Set<string>, pick?: (id: string) => void, skeleton?: number}} props
 *   `list`: the result of `usePages`
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
        ) => html`<th scope="col" class=${shape(each)} style=${each.width ? { inlineSize: each.width } : null} aria-sort=${each.sort && each.sort === sorted ? "descending" : null}>
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

/** The content of an empty list: the next step, or a way to see more. @param {{title: string, children?: any}} props */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

/** Placeholders with the height of the rows that are being loaded. @param {{rows?: number}} props */
export function Skeleton({ rows = 8 }) {
  return html`<div class="skeleton" aria-hidden="true">${Array.from({ length: rows }, (_, index) => html`<i style=${{ inlineSize: `${30 + ((index * 37) % 50)}%` }} />`)}</div>`;
}

/** The picked rows of a table. @param {string} key when it changes, the table shows other rows and none is picked @returns {{picked: Set<string>, pick: (id: string) => void, none: () => void}} */
export function usePicks(key) {
  const [picked, setPicked] = useState(/** @type {Set<string>} */ (new Set()));
  const none = useCallback(() => setPicked(new Set()), []);
  useEffect(none, [key]);
  const pick = useCallback((/** @type {string} */ id) => {
    setPicked((old) => {
      const next = new Set(old);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  return { picked, pick, none };
}

/** The bar with the actions on the picked rows. @param {{count: number, none: () => void, children?: any}} props */
export function Picked({ count, none, children }) {
  return html`<div class="bulk" role="group" aria-label=${t("Picked")}><strong>${tn("{n} picked", "{n} picked", count)}</strong>
    ${children}
    <button type="button" class="button bare" onClick=${none}>${t("Pick none")}</button></div>`;
}

/**
 * Return the places of rows. A row keeps its place, and a new row takes that of a removed one, so that a list reuses
 * the elements of its rows. @param {Map<string, number>} before @param {string[]} ids
 */
export function placed(before, ids) {
  const kept = new Set(ids);
  const free = [...before].filter(([id]) => !kept.has(id)).map(([, place]) => place);
  let next = Math.max(-1, ...before.values()) + 1;
  return new Map(ids.map((id) => [id, before.get(id) ?? free.shift() ?? next++]));
}

/** @param {Column<any>} column */
const shape = ({ number, wide }) => `${number ? "number" : ""} ${wide ? "when-wide" : ""}`;

/**
 * A row. It reads the language, so the rule of signals applies: it is drawn again when a prop changes. A page with
 * constant `columns` and `pick` draws only the changed rows.
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
      ) => html`<td class=${`${shape(each)} ${each.on ? `on-${each.on}` : ""}`} data-title=${each.named ? each.title : null}>
      ${index === 0 && href ? html`<a class="opener" data-row=${name} href=${href}>${each.cell(row)}</a>` : each.cell(row)}
    </td>`,
    )}
  </tr>`;
}
