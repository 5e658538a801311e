/** The head of a page: the link to its list, its title, the state of its data, its actions. */
import { h, html, useEffect } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { loadedAt } from "./resource.js";
import { feed, paused } from "./stream.js";
import { FeedState } from "./ui/state.js";
import { at, title as product } from "./api.js";

/** @param {{title: any, name?: string, up?: [string, string], live?: boolean, children?: any}} props `up`: path and title of the list above */
export function Head({ title, name, up, live, children }) {
  useEffect(() => {
    document.title = `${name ?? title} · ${product}`;
  }, [name, title]);
  return html`<header>
    <div>${up && html`<p class="crumbs"><a data-up href=${at(up[0])}>${up[1]}</a></p>`}<h1>${title}</h1></div>
    <div class="row wrap">
      ${
        live &&
        html`<span class="live">${h(FeedState, { feed: feed.value, at: loadedAt.value })}</span>
      <button type="button" class="button bare" aria-pressed=${paused.value} onClick=${() => {
        paused.value = !paused.value;
      }}>${paused.value ? t("Unfreeze page") : t("Freeze page")}</button>`
      }
      ${children}
    </div>
  </header>`;
}
