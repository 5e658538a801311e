/** The decision whether and when to retry a call. No clock, no network. */

const SURELY_REFUSED = new Set([429, 503]); // the service says that the call had no effect
const DOUBTFUL = new Set([408, 500, 502, 504]); // the call can have had an effect

/** Exponential backoff with jitter (half to all of a delay), never before the service's Retry-After. With the
 * defaults, the retries last 4 s at most, which covers a restart of the service. */
export interface RetryPolicy {
  retries: number;
  firstDelayMs: number;
  longestDelayMs: number;
  /** If the service asks for a longer wait, there is no retry. */
  longestRetryAfterMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  retries: 4,
  firstDelayMs: 250,
  longestDelayMs: 8_000,
  longestRetryAfterMs: 60_000,
};

/** One failed attempt. `status` is null if there was no answer. */
export interface Failure {
  attempt: number;
  status: number | null;
  repeatable: boolean;
  retryAfterMs: number | null;
}

/** Return how long to wait before the next attempt, null to give up. `jitter` is in [0, 1). */
export function delayMs(policy: RetryPolicy, failure: Failure, jitter: number): number | null {
  const { attempt, status, repeatable, retryAfterMs } = failure;
  if (attempt > policy.retries) return null;
  if (status === null) {
    if (!repeatable) return null; // `fetch` does not say whether the request was sent
  } else if (!SURELY_REFUSED.has(status) && !(DOUBTFUL.has(status) && repeatable)) {
    return null;
  }
  if (retryAfterMs !== null && retryAfterMs > policy.longestRetryAfterMs) return null;
  const backoff = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (attempt - 1)) * (0.5 + jitter / 2);
  return Math.max(backoff, retryAfterMs ?? 0);
}
