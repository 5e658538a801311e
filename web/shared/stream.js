/** The live stream, by fetch: it needs the Bearer token, and a page of another site cannot open it. */
import { computed, signal, useEffect, useRef } from "../vendor/preact.js";
import { ApiError, queryOf, renewals } from "./api.js";

/** True while the reader pauses the page. */
export const paused = signal(false);
/** @typedef {"open" | "lost" | "polled"} Connection */
/** Each stream that a part of the page follows. @type {import("../vendor/preact.js").Signal<Map<AbortController, Connection>>} */
const streams = signal(new Map());
const hidden = signal(document.hidden);
document.addEventListener("visibilitychange", () => {
  hidden.value = document.hidden;
});

/** The source of the page's data: "live", "paused", "stale" (the connection is lost), "polled" (without a stream, for example
 * because all places are taken: the page loads its data repeatedly) or "still" (the page follows no topic). */
export const feed = computed(() => {
  const found = [...streams.value.values()]; // the worst counts
  if (paused.value) return "paused";
  return found.includes("lost") ? "stale" : found.includes("polled") ? "polled" : found.length ? "live" : "still";
});

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

/** Return the health of a message. If it lacks the oldest age, because deliveries wait only in the database, the former age stays. @param {any} was @param {any} is */
function renewed(was, is) {
  const { pending, oldestPendingSeconds: age } = is.queue;
  if (!pending || age !== null) return is;
  return { ...is, queue: { ...is.queue, oldestPendingSeconds: was.queue.oldestPendingSeconds } };
}

/** Return the summaries with the health of a message. @param {any[]} rows @param {any[]} told @returns {any[]} */
export function withHealth(rows, told) {
  const by = new Map(told.map((each) => [each.destinationId, each]));
  return rows.map((row) =>
    by.has(row.destination.id) ? { ...row, health: renewed(row.health, by.get(row.destination.id)) } : row,
  );
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
    const became = (/** @type {Connection} */ state) => {
      streams.value = new Map(streams.peek()).set(abort, state);
    };
    const open = async () => {
      try {
        const answer = await api.open("GET", "/stream", { query: { topics, ...query }, signal: abort.signal });
        const gap = opened.current++ > 0 || streams.peek().get(abort) === "polled";
        became("open");
        wait = FIRST_WAIT_MS;
        if (gap) current.current.again?.();
        await readEvents(/** @type {any} */ (answer.body), (topic, data) => current.current.handlers[topic]?.(data));
      } catch (error) {
        if (abort.signal.aborted) return;
        if (/** @type {any} */ (error).status === 401) return;
        // Any other error is a proxy's that cannot reach the service, so no data can be loaded.
        if (error instanceof ApiError && error.status && error.code && error.code !== "internal") {
          if (streams.peek().get(abort) === "polled") current.current.again?.();
          became("polled");
          timer = window.setTimeout(open, Math.max(POLLED_MS, (error.retryAfterS ?? 0) * 1000));
          return;
        }
      }
      if (abort.signal.aborted) return;
      became("lost");
      timer = window.setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    };
    open();
    return () => {
      abort.abort();
      clearTimeout(timer);
      streams.value = new Map([...streams.peek()].filter(([each]) => each !== abort));
    };
  }, [topics, queryOf(query), still, renewals.value]);
}
