/** The live stream, by fetch: it needs the Bearer token, and a page of another site cannot open it. */
import { computed, signal, useEffect, useRef } from "../vendor/preact.js";
import { ApiError, queryOf, renewals } from "./api.js";

/** True while the reader holds the page still. */
export const paused = signal(false);
/** @type {import("../vendor/preact.js").Signal<"off" | "open" | "lost" | "polled">} */
const connection = signal("off");
const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => {
  hidden.value = document.hidden;
});

/** How the page is fed: "live", "paused", "stale" (the connection is lost), "polled" (the service gives it no stream, as
 * where all places are taken: then it loads anew) or "still" (it follows nothing). */
export const feed = computed(() =>
  paused.value ? "paused" : { off: "still", open: "live", lost: "stale", polled: "polled" }[connection.value],
);

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const POLLED_MS = 5000;

/**
 * Read server-sent events until the stream ends.
 * @param {ReadableStream<Uint8Array>} body @param {(topic: string, data: any) => void} tell
 */
export async function readEvents(body, tell) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let topic = "message";
      const data = [];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith("event:")) topic = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      }
      if (data.length) tell(topic, JSON.parse(data.join("\n")));
    }
  }
}

/**
 * Follow topics while the page is shown and not paused. `again` is called when the stream opens after a gap.
 * @param {import("./api.js").Api} api @param {string} topics @param {import("./api.js").Query} query
 * @param {Record<string, (data: any) => void>} handlers @param {() => void} [again]
 */
export function useStream(api, topics, query, handlers, again) {
  const current = useRef({ handlers, again });
  current.current = { handlers, again };
  const opened = useRef(0);
  const still = paused.value || hidden.value;
  useEffect(() => {
    if (still) return undefined;
    const abort = new AbortController();
    let wait = FIRST_WAIT_MS;
    let timer = 0;
    const open = async () => {
      try {
        const answer = await api.open("GET", "/stream", { query: { topics, ...query }, signal: abort.signal });
        const gap = opened.current++ > 0 || connection.value === "polled";
        connection.value = "open";
        wait = FIRST_WAIT_MS;
        if (gap) current.current.again?.();
        await readEvents(/** @type {any} */ (answer.body), (topic, data) => current.current.handlers[topic]?.(data));
      } catch (error) {
        if (abort.signal.aborted) return;
        if (/** @type {any} */ (error).status === 401) return;
        // Else it comes from a proxy that does not reach the service: nothing can be loaded.
        if (error instanceof ApiError && error.status && error.code && error.code !== "internal") {
          if (connection.value === "polled") current.current.again?.();
          connection.value = "polled";
          timer = window.setTimeout(open, Math.max(POLLED_MS, (error.retryAfterS ?? 0) * 1000));
          return;
        }
      }
      if (abort.signal.aborted) return;
      connection.value = "lost";
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    };
    open();
    return () => {
      abort.abort();
      clearTimeout(timer);
      connection.value = "off";
    };
  }, [topics, queryOf(query), still, renewals.value]);
}
