/** The base of the client's groups of methods. */

import type { Call, CallOptions, Transport } from "./transport.js";

export type { CallOptions } from "./transport.js";

const PAGE = 100; // the service's limit for a page

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /** How far a page that had to stop has searched. */
  searchedTo?: string | null;
}

export abstract class Resource {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  protected call<Answer>(call: Call, options?: CallOptions): Promise<Answer> {
    return this.transport.json<Answer>(call, options);
  }

  /** Yield the items of all pages. */
  protected async *pages<Item>(
    path: string,
    query: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): AsyncGenerator<Item, void, undefined> {
    let cursor: string | null = null;
    do {
      const given: Record<string, unknown> = { limit: PAGE, ...query, cursor };
      const page: Page<Item> = await this.call({ method: "GET", path, query: given }, options);
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  /** Return a path of quoted segments. Throws TypeError for a segment that changes the path. */
  protected at(...segments: string[]): string {
    for (const segment of segments) {
      if (segment === "" || segment === "." || segment === "..") throw new TypeError(`${JSON.stringify(segment)} is no id`);
    }
    return `/${segments.map(encodeURIComponent).join("/")}`;
  }
}
