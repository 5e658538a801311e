/** The change of a customer's account. The API replaces the whole account, so the fields that a form omits
 * are read first and sent unchanged: another operator may have changed them meanwhile. */
import { useState } from "../../../vendor/preact.js";
import { t } from "../../../shared/i18n.js";
import { say } from "../../../shared/ui/toasts.js";
import { api } from "../../session.js";

/**
 * Return the function that saves a part of the account, and the reason for a refusal.
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
