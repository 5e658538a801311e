/** The reasons why routing rules match an event or not: the conditions, the event's values, and the difference. */
import { h, html } from "../../vendor/preact.js";
import { t, tn } from "../../shared/i18n.js";
import { useResource } from "../../shared/resource.js";
import { Empty, Skeleton } from "../../shared/ui/table.js";
import { Failure } from "../../shared/ui/failure.js";
import { State } from "../../shared/ui/state.js";
import { Problem, stateOf } from "../../shared/parts/deliveries.js";
import { api, at } from "../session.js";

/** @param {any} rule @returns {[string, string]} a state, and the reason in words */
function verdict(rule) {
  switch (rule.reason) {
    case "MATCHES":
      return ["ON", t("matches")];
    case "OTHER_TYPE":
      return ["OFF", t("is for other event types")];
    case "RULE_DISABLED":
      return ["OFF", t("is switched off")];
    case "DESTINATION_ARCHIVED":
      return ["OFF", t("its destination is archived")];
    case "OTHER_CUSTOMER":
      return ["OFF", t("its destination belongs to another customer")];
    case "FILTER_FALSE":
      return ["FAILED", t("its filter is false")];
    case "FILTER_FAILED":
      return ["DEGRADED", t("its filter has an error")];
    default:
      return ["OFF", rule.reason];
  }
}

/** A delivery of a rule's destination: its state, its cause, and a link to it. @param {{id: string, delivery?: any}} props */
function Became({ id, delivery }) {
  return html`<p class="row wrap">${delivery && html`${h(State, { name: stateOf(delivery) })}<span>${h(Problem, { row: delivery })}</span>`}
    <a href=${at(`/deliveries/${id}`)}>${t("Open the delivery")}</a></p>`;
}

/** A rule, its verdict, and the values that its filter read. @param {{rule: any, deliveries: any[]}} props */
function Verdict({ rule, deliveries }) {
  const [state, reason] = verdict(rule);
  return html`<li>
    <div class="row wrap">${
      rule.ruleId
        ? html`<a class="cut" href=${at(`/rules?open=${rule.ruleId}`)}><strong>${rule.name}</strong></a>`
        : html`<strong class="cut">${rule.name}</strong>`
    }
      ${h(State, { name: state, word: reason })}
      ${rule.changedSince && html`<span class="tag tone-warn">${t("changed since then")}</span>`}</div>
    ${rule.deliveryId && h(Became, { id: rule.deliveryId, delivery: deliveries.find((each) => each.id === rule.deliveryId) })}
    <div class="row wrap quiet">${rule.pattern && html`<code>${rule.pattern}</code>`}
      ${rule.filter && html`<code class="filter">${rule.filter}</code>`}</div>
    ${rule.filterError && html`<p class="bad">${rule.filterError}</p>`}
    ${
      rule.filterRead?.length > 0 &&
      html`<dl class="facts small">${rule.filterRead.map(
        (/** @type {any} */ each) => html`
      <dt><code>${each.path}</code></dt><dd>${each.value === null ? html`<em>${t("missing")}</em>` : html`<code>${each.value}</code>`}</dd>`,
      )}</dl>`
    }
  </li>`;
}

/**
 * The verdicts of all rules that name a type. @param {{found: any, deliveries?: any[]}} props `found`: a preview, or an
 * explanation; `deliveries`: of the explained event
 */
export function Verdicts({ found, deliveries }) {
  const { rules, otherRules, omittedRules, refusal } = found;
  const none = !deliveries && !refusal && !rules.some((/** @type {any} */ each) => each.reason === "MATCHES");
  return html`${none && omittedRules === 0 && html`<p class="inside"><strong>${t("No destination would get it.")}</strong></p>`}${refusal && html`<p class="inside">${t("Such an event would be refused now:")} <strong>${refusal.message}</strong></p>`}
    ${rules.length === 0 && h(Empty, { title: t("No rule is for this event type.") }, html`<a class="button" href=${at("/rules?new=1")}>${t("New rule")}</a>`)}
    <ul class="rules">${rules.map((/** @type {any} */ rule, /** @type {number} */ index) => h(Verdict, { key: rule.ruleId ?? index, rule, deliveries: deliveries ?? [] }))}</ul>
    <p class="inside quiet">${t("By the current rules.")}
      ${" "}${otherRules > 0 && tn("{n} rule is for other event types.", "{n} rules are for other event types.", otherRules)}
      ${" "}${omittedRules > 0 && tn("{n} more is not shown.", "{n} more are not shown.", omittedRules)}</p>`;
}

/** @param {{id: string, deliveries: any[]}} props the event's ID, and its deliveries */
export function WhyNot({ id, deliveries }) {
  const found = useResource((signal) => api.get(`/events/${id}/explain`, {}, signal), [id]);
  if (found.error && !found.data) return h(Failure, { error: found.error, retry: found.reload });
  return found.data ? h(Verdicts, { found: found.data, deliveries }) : h(Skeleton, { rows: 4 });
}
