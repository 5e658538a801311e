/** The page that embeds the portal: it gives tokens and the theme, and learns the height. It speaks through one port. */

const WAIT_MS = 10_000; // of a token, before it counts as refused

/** @typedef {{theme?: string, primary?: string, radius?: string, density?: string, locale?: string}} Look */

export class Host {
  /** @param {(look: Look) => void} look what the page asks for, each time it changes */
  constructor(look) {
    /** @type {MessagePort | null} */
    this.port = null;
    this.look = look;
    /** @type {((token: string | null) => void)[]} */
    this.waiting = [];
    /** @type {Promise<void>} */
    this.met = new Promise((done) => {
      const meet = (/** @type {MessageEvent} */ event) => {
        // The browser lets only the workspace's origins be the parent (frame-ancestors); others can still send.
        if (event.source !== window.parent || event.origin === "null") return;
        if (event.data?.angarium !== "port" || !event.ports[0]) return;
        removeEventListener("message", meet);
        this.port = event.ports[0];
        this.port.onmessage = ({ data }) => this.hear(data);
        look(event.data.look ?? {});
        done();
      };
      addEventListener("message", meet);
    });
    // It holds nothing: the element answers it by the port, and only to this origin.
    window.parent.postMessage({ angarium: "ready" }, "*");
  }

  /** @param {any} data */
  hear(data) {
    if (data?.type === "look") this.look(data.look ?? {});
    if (data?.type !== "token") return;
    const given = typeof data.token === "string" ? data.token : null;
    for (const done of this.waiting.splice(0)) done(given);
  }

  /** Ask the page for a token of its customer; null where it gives none. @returns {Promise<string | null>} */
  async token() {
    const late = new Promise((done) => setTimeout(done, WAIT_MS, null));
    const given = this.met.then(
      () =>
        new Promise((done) => {
          this.waiting.push(done);
          this.port?.postMessage({ type: "token" });
        }),
    );
    return /** @type {any} */ (Promise.race([given, late]));
  }

  /** Tell the page how high the portal is, whenever that changes. @param {Element} element */
  measure(element) {
    new ResizeObserver(() => {
      this.port?.postMessage({ type: "height", height: Math.ceil(element.getBoundingClientRect().height) });
    }).observe(element);
  }
}
