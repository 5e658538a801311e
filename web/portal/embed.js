/* <angarium-portal workspace="..."> shows the webhooks portal in a frame. Set its `getToken` to a function that asks your server. */
(() => {
  const origin = new URL(/** @type {HTMLScriptElement} */ (document.currentScript).src).origin;
  const LOOKS = ["theme", "primary", "radius", "density", "locale"];

  class AngariumPortal extends HTMLElement {
    static observedAttributes = LOOKS;
    /** @type {(() => Promise<string | {token: string}>) | undefined} returns a token of the signed-in customer */
    getToken;
    /** @type {MessagePort | undefined} */
    #port;
    /** @type {HTMLIFrameElement | undefined} */
    #frame;

    connectedCallback() {
      addEventListener("message", this.#meet);
      const frame = document.createElement("iframe");
      frame.title = this.getAttribute("label") ?? "Webhooks";
      frame.allow = "clipboard-write";
      frame.setAttribute(
        "sandbox",
        "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation",
      );
      frame.style.cssText = "display:block;width:100%;border:0;min-height:20rem";
      frame.src = `${origin}/portal/${encodeURIComponent(this.getAttribute("workspace") ?? "")}${this.getAttribute("page") ?? ""}`;
      this.#frame = frame;
      this.replaceChildren(frame);
    }

    disconnectedCallback() {
      removeEventListener("message", this.#meet);
      this.#port?.close();
    }

    attributeChangedCallback() {
      this.#port?.postMessage({ type: "look", look: this.#look() });
    }

    #look() {
      return Object.fromEntries(LOOKS.map((name) => [name, this.getAttribute(name)]).filter(([, value]) => value));
    }

    #meet = (/** @type {MessageEvent} */ event) => {
      const page = this.#frame?.contentWindow;
      if (!page || event.source !== page || event.origin !== origin || event.data?.angarium !== "ready") return;
      this.#port?.close();
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => this.#hear(data);
      this.#port = port1;
      page.postMessage({ angarium: "port", look: this.#look() }, origin, [port2]);
    };

    /** @param {any} data */
    async #hear(data) {
      if (data.type === "height" && this.#frame) this.#frame.style.height = `${data.height}px`;
      if (data.type !== "token") return;
      let given = null;
      try {
        given = await this.getToken?.();
      } catch (error) {
        console.error("angarium-portal: getToken failed", error);
      }
      this.#port?.postMessage({ type: "token", token: (typeof given === "object" ? given?.token : given) ?? null });
    }
  }

  if (!customElements.get("angarium-portal")) customElements.define("angarium-portal", AngariumPortal);
})();
