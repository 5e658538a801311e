/** The permissions of customers in their portal, in words. */
import { t } from "../../shared/i18n.js";

/** Return the titles of permissions by their names in the API. @returns {Record<string, string>} */
export const abilities = () => ({
  createDestinations: t("Create destinations"),
  editDestinations: t("Edit destinations"),
  switchDestinations: t("Switch destinations on and off"),
  archiveDestinations: t("Archive destinations"),
  testDestinations: t("Send samples"),
  editHeaders: t("Edit headers"),
  editDeliveryOptions: t("Edit delivery options"),
  rotateSecrets: t("Rotate secrets"),
  manageRules: t("Choose event types"),
  manageTransforms: t("Write transform scripts"),
  retryDeliveries: t("Retry deliveries"),
  discardDeliveries: t("Discard deliveries"),
  replay: t("Replay"),
  viewPayloads: t("See payloads"),
});
