/** What a page shows once it is loaded: data, which is kept while it is loaded again, and modules of its rarer parts. */
import { h, html, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";

/**
 * Return a component whose module is loaded when it is first shown; until then it shows nothing.
 * @template {(props: any) => any} C @param {() => Promise<C>} load @returns {C}
 */
export function lazily(load) {
  /** @type {C | null} */
  let found = null;
  const Later = (/** @type {any} */ props) => {
    const [, drawn] = useState(0);
    useEffect(() => {
      if (found) return;
      load()
        .catch(() => /** @type {any} */ (Unloaded))
        .then((component) => {
          found = component;
          drawn(1);
        });
    }, []);
    return found && h(found, props);
  };
  return /** @type {C} */ (Later);
}

function Unloaded() {
  return html`<div class="notice tone-bad" role="alert"><strong>${t("This part could not be loaded.")}</strong>
    <div><button type="button" class="button" onClick=${() => location.reload()}>${t("Load again")}</button></div></div>`;
}

/**
 * @template T
 * @typedef {{data: T | null, error: import("./api.js").ApiError | null, loading: boolean, at: number | null,
 *   reload: () => void, set: (change: (data: T) => T) => void}} Resource
 */

/**
 * Load data and load it again when the key changes. After a 429, a 503 or a lost connection it waits and tries again.
 * @template T @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} key
 * @returns {Resource<T>}
 */
export function useResource(load, key) {
  const [state, setState] = useState(/** @type {any} */ ({ data: null, error: null, loading: true, at: null }));
  const [round, setRound] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const before = useRef(key);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const same = before.current.every((each, index) => each === key[index]);
    before.current = key;
    setState((/** @type {any} */ old) => ({ ...old, data: same ? old.data : null, loading: true }));
    loader.current(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ data, error: null, loading: false, at: Date.now() });
      },
      (error) => {
        if (abort.signal.aborted) return;
        if (!("status" in error)) throw error;
        setState((/** @type {any} */ old) => ({ ...old, error, loading: false }));
        if (error.retryAfterS) timer = window.setTimeout(() => setRound((n) => n + 1), error.retryAfterS * 1000);
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...key, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const set = useCallback((/** @type {any} */ change) => {
    setState((/** @type {any} */ old) => (old.data === null ? old : { ...old, data: change(old.data) }));
  }, []);
  return { ...state, reload, set };
}

/**
 * A list by pages: `more` loads the next one.
 * @param {import("./api.js").Api} api @param {string} path @param {import("./api.js").Query} query
 */
export function usePages(api, path, query) {
  const found = useResource((signal) => api.get(path, { limit: 50, ...query }, signal), [path, JSON.stringify(query)]);
  const [busy, setBusy] = useState(false);
  const more = async () => {
    if (!found.data?.nextCursor || busy) return;
    setBusy(true);
    try {
      const next = await api.get(path, { limit: 50, ...query, cursor: found.data.nextCursor });
      found.set((old) => ({ ...next, items: [...old.items, ...next.items] }));
    } finally {
      setBusy(false);
    }
  };
  return { ...found, items: found.data?.items ?? null, more: found.data?.nextCursor ? more : null, busy };
}
