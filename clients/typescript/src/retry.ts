/** When a call is made again: pure decisions, no clock and no network. */

const SURELY_REFUSED = new Set([429, 503]); // the service says that nothing was done
const DOUBTFUL = new Set([408, 500, 502, 504]); // something may have been done

/** Exponential backoff with full jitter, never before the service's Retry-After. The defaults spend about 4 s
 * on a service that restarts. */
export interface RetryPolicy {
  retries: number;
  firstDelayMs: number;
  longestDelayMs: number;
  /** Give up at once where the service asks for more. */
  longestRetryAfterMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  retries: 4,
  firstDelayMs: 250,
  longestDelayMs: 8_000,
  longestRetryAfterMs: 60_000,
};

/** One attempt that failed. `status` is null where no answer came. */
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
    if (!repeatable) return null; // `fetch` does not tell whether the request has left
  } else if (!SURELY_REFUSED.has(status) && !(DOUBTFUL.has(status) && repeatable)) {
    return null;
  }
  if (retryAfterMs !== null && retryAfterMs > policy.longestRetryAfterMs) return null;
  const backoff = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (attempt - 1)) * (0.5 + jitter / 2);
  return Math.max(backoff, retryAfterMs ?? 0);
}
