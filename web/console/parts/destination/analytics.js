/** What a destination did over an hour to a month, from the counters of its delivery log. */
import { h } from "../../../vendor/preact.js";
import { Period } from "../period.js";

/** @param {{destination: any}} props */
export function Analytics({ destination: { id } }) {
  return h(Period, { path: `/destinations/${id}/analytics`, given: { destinationId: id } });
}
