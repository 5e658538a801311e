/** Why not? Each routing rule beside an event: what it needs, what the event has, and where they part. */
import { h, html } from "../../vendor/preact.js";
import { t, tn } from "../../shared/i18n.js";
import { useResource } from "../../shared/resource.js";
import { Empty, Skeleton } from "../../shared/ui/empty.js";
import { Failure } from "../../shared/ui/failure.js";
import { State } from "../../shared/ui/state.js";
import { api, at } from "../session.js";

/** @param {any} rule @returns {[string, string]} a state, and the reason in words */
function verdict(rule) {
  switch (rule.reason) {
    case "MATCHES": return ["ON", t("matches")];
    case "OTHER_TYPE": return ["OFF", t("is for other event types")];
    case "RULE_DISABLED": return ["OFF", t("is switched off")];
    case "DESTINATION_ARCHIVED": return ["OFF", t("its destination is archived")];
    case "OTHER_CUSTOMER": return ["OFF", t("its destination belongs to another customer")];
    case "FILTER_FALSE": return ["FAILED", t("its filter is false")];
    case "FILTER_FAILED": return ["DEGRADED", t("its filter fails")];
    default: return ["OFF", rule.reason];
  }
}

/** Return the values that a filter reads of an event: paths such as `event.payload.total`. @param {string} filter @param {any} event */
export function readings(filter, event) {
  const paths = [...new Set(filter.match(/\bevent(?:\.\w+)+/g) ?? [])];
  return paths.map((path) => {
    const names = path.split(".").slice(1);
    /** @type {any} */
    let value = event;
    for (const name of names) value = value !== null && typeof value === "object" ? value[name] : undefined;
    return { path, value: value === undefined ? t("missing") : JSON.stringify(value) };
  });
}

/** @param {{body: string, event: any}} props `body`: the event's exact JSON; `event`: the same, parsed */
export function WhyNot({ body, event }) {
  const found = useResource((signal) => api.call("POST", "/routing-rules/preview", { body: `{"event":${body}}`, signal }), [body]);
  if (found.error && !found.data) return h(Failure, { error: found.error, retry: found.reload });
  if (!found.data) return h(Skeleton, { rows: 4 });
  const { rules, otherRules, omittedRules, refusal } = found.data;
  if (refusal) return html`<div class="inside">${t("Such an event would be refused now:")} <strong>${refusal.message}</strong></div>`;
  return html`${rules.length === 0 && h(Empty, { title: t("No rule is for this event type.") }, html`<a class="button" href=${at("/rules?new=1")}>${t("New rule")}</a>`)}
    <ul class="rules">${rules.map((/** @type {any} */ rule) => {
      const [state, reason] = verdict(rule);
      return html`<li key=${rule.ruleId}>
        <div class="row wrap"><strong class="cut">${rule.name}</strong>${h(State, { name: state, word: reason })}</div>
        <div class="row wrap quiet">${rule.pattern && html`<code>${rule.pattern}</code>`}
          ${rule.filter && html`<code class="filter">${rule.filter}</code>`}</div>
        ${rule.filterError && html`<p class="bad">${rule.filterError}</p>`}
        ${rule.filter && !rule.matches && html`<dl class="facts small">${readings(rule.filter, event).map(({ path, value }) => html`<dt><code>${path}</code></dt><dd><code>${value}</code></dd>`)}</dl>`}
      </li>`;
    })}</ul>
    <p class="inside quiet">${t("By the rules of now.")} ${otherRules > 0 && tn("{n} rule is for other event types.", "{n} rules are for other event types.", otherRules)}
      ${omittedRules > 0 && tn("{n} more is not shown.", "{n} more are not shown.", omittedRules)}</p>`;
}
