/** The change of a customer's account. The API replaces the account as a whole, so what a form does not name is read first
 * and sent as it is by then: another operator may have changed it meanwhile. */
import { useState } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { say } from "../../../shared/ui/toasts.js";
import { api } from "../../session.js";

/**
 * Return what saves a part of the account, and why it was refused.
 * @param {any} customer @param {(customer: any) => void} changed gets what the service answered
 * @returns {[(part: {name?: string | null, quotas?: object, permissions?: object}) => Promise<void>, any]}
 */
export function useChange(customer, changed) {
  const [error, setError] = useState(/** @type {any} */ (null));
  const save = async (/** @type {object} */ part) => {
    setError(null);
    try {
      const path = `/customers/${encodeURIComponent(customer.customerExternalId)}`;
      const { name, quotas, permissions } = await api.call("GET", path);
      changed(await api.call("PUT", path, { body: { name, quotas, permissions, ...part } }));
      say(t("Saved."));
    } catch (problem) {
      if (/** @type {any} */ (problem).status === undefined) throw problem;
      setError(problem);
    }
  };
  return [save, error];
}
