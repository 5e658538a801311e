/** The analytics of a destination over an hour to a month. */
import { h } from "../../../vendor/preact.js";
import { Period } from "../period.js";

/** @param {{destination: any}} props */
export function Analytics({ destination: { id } }) {
  return h(Period, { path: `/destinations/${id}/analytics`, given: { destinationId: id } });
}
