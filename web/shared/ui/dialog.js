/** A modal dialog: the browser's own, so that Esc closes it and the focus stays inside. */
import { html, useEffect, useRef } from "../../vendor/preact.js";
import { t } from "../i18n.js";

/** @param {{title: string, close: () => void, wide?: boolean, children?: any, footer?: any}} props */
export function Dialog({ title, close, wide, children, footer }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    element.current?.showModal();
    // The focus goes to the first field, not to the close button.
    const dialog = element.current;
    if (!dialog?.querySelector("[autofocus]")) {
      /** @type {HTMLElement | null | undefined} */ (
        dialog?.querySelector(".inside :is(input, select, textarea, .button, a)")
      )?.focus();
    }
    return () => back?.focus();
  }, []);
  return html`<dialog class=${wide ? "dialog wide" : "dialog"} ref=${element} aria-label=${title} onCancel=${(
    /** @type {Event} */ event,
  ) => {
    event.preventDefault();
    close();
  }}>
    <header><h1>${title}</h1><button type="button" class="button bare" onClick=${close} aria-label=${t("Close")}>✕</button></header>
    <div class="inside">${children}</div>
    ${footer && html`<footer>${footer}</footer>`}
  </dialog>`;
}
