/** The client: a key, an address and the resources. */

import { Groups } from "./groups.js";
import { Producer, type ProducerOptions } from "./producer.js";
import { RETRY_POLICY, type RetryPolicy } from "./retry.js";
import type { AuthContext, Environment, Throughput } from "./shapes.js";
import { type CallOptions, Transport } from "./transport.js";

const TIMEOUT_MS = 30_000; // a commit takes milliseconds, but a restart of the database half a minute

export interface ClientOptions {
  /** The service's address, such as http://127.0.0.1:8080. */
  url: string;
  /** An API key, an MCP key, or in a browser the token of an embed session. A function is called for each call. */
  key: string | (() => string);
  /** For MCP keys only; sent with every call. */
  environment?: Environment;
  /** The time limit of each attempt. */
  timeoutMs?: number;
  retry?: Partial<RetryPolicy>;
  /** Another `fetch`, for tests and proxies. */
  fetch?: typeof fetch;
}

/** The client of one Angarium service, with one key. Use one client for the whole program. */
export class Angarium extends Groups {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport({
      url: options.url,
      key: options.key,
      environment: options.environment,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      retry: { ...RETRY_POLICY, ...options.retry },
      fetch: options.fetch ?? ((input, init) => fetch(input, init)), // a browser's must not be a method call
    });
    super(transport);
    this.#transport = transport;
  }

  /** Return the key's workspace, environment and scope. */
  authContext(options?: CallOptions): Promise<AuthContext> {
    return this.#transport.json({ method: "GET", path: "/auth/context" }, options);
  }

  /** Return an environment's rates over the last minute. */
  throughput(environment: Environment, options?: CallOptions): Promise<Throughput> {
    return this.#transport.json({ method: "GET", path: "/observability/throughput", query: { environment } }, options);
  }

  /** Return a producer, which sends events in batches. */
  producer(options?: ProducerOptions): Producer {
    return new Producer(this.#transport, options);
  }
}
