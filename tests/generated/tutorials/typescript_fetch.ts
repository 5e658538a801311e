/** The tutorial by the client of openapi-generator's typescript-fetch. */

import {
  Configuration,
  DeliveriesApi,
  DestinationsApi,
  EventsApi,
  ModelErrorFromJSON,
  ResponseError,
  RoutingRulesApi,
} from "./client/index.js";

declare const process: { argv: string[] };
const [url, key, hook] = process.argv.slice(2) as [string, string, string];
const configuration = new Configuration({ basePath: url, accessToken: key });
const destinations = new DestinationsApi(configuration);
const deliveries = new DeliveriesApi(configuration);
const events = new EventsApi(configuration);

const destination = await destinations.createDestination({
  anyDestinationDraft: {
    name: "Orders",
    url: hook,
    delivery: { ordering: "KEY", retrySchedule: [1, 5, 30] },
  },
});
const rule = await new RoutingRulesApi(configuration).createRoutingRule({
  ruleDraft: { name: "All about orders", destinationId: destination.id, eventTypes: ["order.*"] },
});
const eventInput = {
  eventType: "order.created",
  payload: { order: 42, total: "19.90" },
  idempotencyKey: "order-42-created",
};
const sent = await events.ingestEvent({ eventInput });
const again = await events.ingestEvent({ eventInput });
const until = Date.now() + 60_000;
let status = "PENDING";
let id = "";
while (status !== "DELIVERED" && Date.now() < until) {
  const [first] = (await deliveries.listDeliveriesOfEvent({ id: sent.id })).items;
  if (first === undefined) throw new Error("no delivery");
  ({ id, status } = first);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const delivery = await deliveries.getDelivery({ id });
const health = await destinations.getDestinationHealth({ id: destination.id });
let error: unknown[] = [];
try {
  await deliveries.getDelivery({ id: rule.id });
} catch (refusal) {
  if (!(refusal instanceof ResponseError)) throw refusal;
  const envelope = ModelErrorFromJSON(await refusal.response.json());
  error = [refusal.response.status, envelope.code];
}
console.log(
  JSON.stringify({
    enabled: rule.enabled,
    duplicate: [sent.duplicate, again.duplicate],
    same: sent.id === again.id,
    status: delivery.status,
    response: delivery.attempts[0]?.responseStatus,
    circuit: health.circuit.state,
    error,
  }),
);
