/** The loading of data, which stays while it is loaded again, and of modules for rarely used parts. */
import { h, html, signal, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { ApiError, renewals } from "./api.js";
import { t } from "./i18n.js";

/** Do work after the frame with the current content is drawn. @param {() => void} work */
const afterFrame = (work) => requestAnimationFrame(() => setTimeout(work));

/** Return a component whose module is loaded at its first use; until then it is empty.
 * @template {(props: any) => any} C @param {() => Promise<C>} load
 * @param {typeof useEffect} [effect] when to load: after the first frame around it, or, with `useLayoutEffect`, before that frame
 * @returns {C}
 */
export function lazily(load, effect = useEffect) {
  /** @type {C | null} */
  let found = null;
  const Later = (/** @type {any} */ props) => {
    const [, drawn] = useState(0);
    effect(() => {
      if (found) return;
      const begin = () =>
        load()
          .catch(() => /** @type {any} */ (Unloaded))
          .then((component) => {
            found = component;
            drawn(1);
          });
      // Effects do not wait for a late frame.
      if (effect === useEffect) afterFrame(begin);
      else begin();
    }, []);
    return found && h(found, props);
  };
  return /** @type {C} */ (Later);
}

function Unloaded() {
  return html`<div class="notice tone-bad" role="alert"><strong>${t("This part could not be loaded.")}</strong>
    <div><button type="button" class="button" onClick=${() => location.reload()}>${t("Load again")}</button></div></div>`;
}

/** The time at which the page last received its data, in ms. */
export const loadedAt = signal(0);
let asked = 0; // loads by pages since the start of the application
let answered = 0;

/** Return true once a page has its data: then there is time to load modules that may be needed next. */
export const loaded = () => asked > 0 && answered === asked;

/**
 * @template T
 * @typedef {{data: T | null, error: import("./api.js").ApiError | null, stale: boolean, at: number | null,
 *   reload: () => void, set: (change: (data: T) => T) => void}} Resource `stale`: the data is of the previous key
 */

/**
 * Load data and load it again when the key changes. After a 429, a 503 or a lost connection it waits and tries again.
 * @template T @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} key
 * @param {boolean} [keeps] true: data of the previous key is shown until that of the new one arrives
 * @returns {Resource<T>}
 */
export function useResource(load, key, keeps = false) {
  const [state, setState] = useState(/** @type {any} */ ({ data: null, error: null, stale: false, at: null }));
  const [round, setRound] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const before = useRef(key);
  // A layout effect sends the request before the frame is drawn, not one or two frames after it.
  useLayoutEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    if (!before.current.every((each, index) => each === key[index])) {
      before.current = key;
      setState((/** @type {any} */ old) => ({ ...old, ...(keeps ? { stale: true } : { data: null }) }));
    }
    asked++;
    const answer = loader.current(abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        loadedAt.value = Date.now();
        setState({ data, error: null, stale: false, at: loadedAt.value });
      },
      (error) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        // If the session has ended, the page stays unchanged until the session continues.
        if (error.status === 401)
          return setState((/** @type {any} */ old) => ({ ...old, error: old.data ? null : error }));
        setState((/** @type {any} */ old) => ({ ...old, error, data: old.stale ? null : old.data, stale: false }));
        if (error.retryAfterS) timer = window.setTimeout(() => setRound((n) => n + 1), error.retryAfterS * 1000);
      },
    );
    answer.finally(() => {
      answered++;
    });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...key, round, renewals.value]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const set = useCallback((/** @type {any} */ change) => {
    setState((/** @type {any} */ old) => (old.data === null ? old : { ...old, data: change(old.data) }));
  }, []);
  return { ...state, reload, set };
}

const PAGE = 50; // rows
const MOST = 100; // the API's limit

/** @param {any} row of any list */
const keyOf = (row) =>
  row.id ?? row.deliveryId ?? row.destination?.id ?? row.signature ?? row.customerExternalId ?? row.key;

/**
 * Return a newly loaded beginning of a list, with the later rows that `more` had loaded before. If more than a page is new,
 * the list begins again.
 * @param {{items: any[], nextCursor: string | null}} old the list as it was
 * @param {{items: any[], nextCursor: string | null, searchedTo?: string | null}} page its beginning
 */
export function continued(old, page) {
  if (!page.nextCursor) return page;
  const { searchedTo } = page;
  const last = page.items.at(-1);
  if (!last && !old.items.length) return old; // a search continues where it was
  const keys = new Set(page.items.map(keyOf));
  const behind = (/** @type {any} */ row, /** @type {number} */ index) =>
    last
      ? place >= 0 && index > place && !keys.has(keyOf(row))
      : Boolean(searchedTo) &&
        (row.deadLetteredAt ?? row.receivedAt ?? row.createdAt) < /** @type {string} */ (searchedTo);
  const place = last ? old.items.findIndex((row) => keyOf(row) === keyOf(last)) : -1;
  const kept = old.items.filter(behind);
  return kept.length ? { ...old, items: [...page.items, ...kept] } : page;
}

/**
 * Load again when the key changes, at most once in `pauseMs`: for keys that can change many times a second.
 * @param {() => void} reload @param {unknown[]} key @param {number} pauseMs
 */
export function useAgain(reload, key, pauseMs) {
  const first = useRef(true);
  const asked = useRef(Date.now());
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return undefined;
    }
    const timer = setTimeout(
      () => {
        asked.current = Date.now();
        reload();
      },
      Math.max(0, asked.current + pauseMs - Date.now()),
    );
    return () => clearTimeout(timer);
  }, key);
}

/**
 * A list in pages: `more` loads the next one. If a page is empty but the search is incomplete, the search continues until
 * it finds a row or `stop` is called. `searchedTo` is the instant that it has reached. While other filters load, the rows
 * of the previous ones stay, so that no empty page appears.
 * @param {import("./api.js").Api} api @param {string} path @param {import("./api.js").Query} query
 * @param {import("./api.js").Query} [deeper] further parameters of a search, for example to examine more rows at a time
 */
export function usePages(api, path, query, deeper = {}) {
  const key = path + JSON.stringify(query);
  const former = useRef(/** @type {{key: string, data: any}} */ ({ key: "", data: null })); // the data that is shown, with its key
  const found = useResource(
    async (signal) => {
      const again = former.current.key === key && former.current.data;
      const limit = Math.min(MOST, Math.max(PAGE, again ? again.items.length : 0));
      const page = await api.get(path, { limit, ...query, ...(again ? deeper : {}) }, signal);
      if (!signal.aborted) former.current.key = key;
      return again ? continued(former.current.data, page) : page;
    },
    [key],
    true,
  );
  former.current.data = found.data;
  const [search, setSearch] = useState(/** @type {AbortController | null} */ (null));
  const [failed, setFailed] = useState(/** @type {import("./api.js").ApiError | null} */ (null));
  const go = async (/** @type {any} */ from, abort = new AbortController()) => {
    let page = from;
    setSearch(abort);
    setFailed(null);
    try {
      do {
        const asked = { limit: PAGE, ...query, ...deeper, cursor: page.nextCursor };
        page = await api.get(path, asked, abort.signal);
        if (abort.signal.aborted) return;
        found.set((old) => ({ ...page, items: [...old.items, ...page.items] }));
      } while (!page.items.length && page.nextCursor);
    } catch (error) {
      if (abort.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      setFailed(error);
    } finally {
      setSearch((now) => (now === abort ? null : now));
    }
  };
  useEffect(() => {
    const first = found.data;
    if (!first || first.items.length || !first.nextCursor) return undefined;
    const abort = new AbortController();
    go(first, abort);
    return () => abort.abort();
  }, [found.at]);
  const next = found.stale ? null : found.data?.nextCursor;
  const items = found.data?.items ?? null;
  return {
    ...found,
    error: found.error ?? failed,
    items: (search || found.stale) && !items?.length ? null : items,
    more: next && !search ? () => go(found.data) : null,
    stop: search ? () => search.abort() : null,
    searchedTo: found.stale ? null : (found.data?.searchedTo ?? null),
  };
}
