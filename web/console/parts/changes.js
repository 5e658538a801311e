/** The texts for an entry of the audit log: the action, the actor, the object and its changes. */
import { short, words } from "../../shared/format.js";
import { t } from "../../shared/i18n.js";

/** @returns {Record<string, string>} */
const objects = () => ({
  api_key: t("API key"),
  console_session: t("Console session"),
  customer: t("Customer"),
  delivery: t("Delivery"),
  destination: t("Destination"),
  dlq: t("Dead-letter queue"),
  embed_session: t("Portal session"),
  event: t("Event"),
  machine: t("Server"),
  replay_job: t("Replay job"),
  routing_rule: t("Routing rule"),
  schema: t("Schema"),
  transform_script: t("Transform script"),
  workspace: t("Workspace"),
});
/** @returns {Record<string, string>} */
const verbs = () => ({
  activate: t("activated"),
  archive: t("archived"),
  cancel: t("cancelled"),
  create: t("created"),
  delete: t("deleted"),
  deprecate: t("deprecated"),
  disable: t("switched off"),
  discard: t("discarded"),
  enable: t("switched on"),
  erase: t("erased"),
  publish: t("published"),
  resume: t("resumed"),
  retry: t("retried"),
  revoke: t("revoked"),
  rotate: t("rotated"),
  unpublish: t("unpublished"),
  update: t("changed"),
});

/** Return what was done, in words. @param {any} entry */
export function actionOf({ action }) {
  const [object, verb] = action.split(".");
  const [what, done] = [objects()[object], verbs()[verb]];
  return what && done ? `${what} ${done}` : words(action.replace(/[._]/g, " "));
}

/** Return who made a change: the kind of actor, and the name of the key that it used. @param {any} entry @param {Record<string, string>} keys by id */
export const whoOf = ({ actorType, actorId }, keys) =>
  keys[actorId] ? `${words(actorType)} · ${keys[actorId]}` : words(actorType);

/**
 * Return the changed members of a change, by path: objects are compared member by member, other values as a whole.
 * @param {string} name @param {any} from @param {any} to @returns {{name: string, from: unknown, to: unknown}[]}
 */
export function members(name, from, to) {
  const plain = (/** @type {unknown} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (!plain(from) || !plain(to)) return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ name, from, to }];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((each) =>
    members(`${name}.${each}`, from[each], to[each]),
  );
}

/** @param {unknown} value */
export const said = (value) =>
  value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);

/**
 * Return the name of the changed object: from the change, from the known names, or the name of its destination.
 * @param {any} entry @param {Record<string, string>} names of destinations, by id
 */
export function labelOf({ objectId, changes }, names) {
  const of = (/** @type {string} */ field) => changes?.[field]?.to ?? changes?.[field]?.from;
  const label =
    of("name") ?? names[objectId] ?? of("eventType") ?? of("customerExternalId") ?? names[of("destinationId")];
  return said(label ?? (objectId === "*" ? t("several") : short(objectId)));
}
