/** What a page shows once it is loaded: data, which is kept while it is loaded again, and modules of its rarer parts. */
import { h, html, signal, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { ApiError, renewals } from "./api.js";
import { t } from "./i18n.js";

/** Do work once the frame is drawn that shows what is on the page by now. @param {() => void} work */
const afterFrame = (work) => requestAnimationFrame(() => setTimeout(work));

/**
 * Return a component whose module is loaded when it is first shown; until then it shows nothing.
 * @template {(props: any) => any} C @param {() => Promise<C>} load
 * @param {typeof useEffect} [effect] when: after the frame that shows what surrounds it, or with `useLayoutEffect` before
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
      // Effects do not wait for a frame that is late.
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

/** When the page last got what it asked for, in ms. */
export const loadedAt = signal(0);
let asked = 0; // by pages, since the application began
let answered = 0;

/** Return true once a page has what it asked for: then there is time to load what may be needed next. */
export const loaded = () => asked > 0 && answered === asked;

/**
 * @template T
 * @typedef {{data: T | null, error: import("./api.js").ApiError | null, stale: boolean, at: number | null,
 *   reload: () => void, set: (change: (data: T) => T) => void}} Resource `stale`: the data is of the former key
 */

/**
 * Load data and load it again when the key changes. After a 429, a 503 or a lost connection it waits and tries again.
 * @template T @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} key
 * @param {boolean} [keeps] whether data of the former key is shown until that of the new one has come
 * @returns {Resource<T>}
 */
export function useResource(load, key, keeps = false) {
  const [state, setState] = useState(/** @type {any} */ ({ data: null, error: null, stale: false, at: null }));
  const [round, setRound] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const before = useRef(key);
  // A layout effect: the request leaves before the frame is drawn, and not one or two frames after it.
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
        // Where the session has ended, the page stays as it is until it goes on.
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

/**
 * A list by pages: `more` loads the next one. A page can be empty although there is more to search: then the search
 * goes on until it finds something, or `stop` is called. `searchedTo` is how far back it came. While other filters load,
 * the rows of the former ones stay: the reader sees no empty page in between.
 * @param {import("./api.js").Api} api @param {string} path @param {import("./api.js").Query} query
 * @param {import("./api.js").Query} [deeper] what a search asks for besides, such as to examine more rows at a time
 */
export function usePages(api, path, query, deeper = {}) {
  const found = useResource(
    (signal) => api.get(path, { limit: 50, ...query }, signal),
    [path, JSON.stringify(query)],
    true,
  );
  const [search, setSearch] = useState(/** @type {AbortController | null} */ (null));
  const [failed, setFailed] = useState(/** @type {import("./api.js").ApiError | null} */ (null));
  const go = async (/** @type {any} */ from, abort = new AbortController()) => {
    let page = from;
    setSearch(abort);
    setFailed(null);
    try {
      do {
        const asked = { limit: 50, ...query, ...deeper, cursor: page.nextCursor };
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
