/** The tutorial by the types of openapi-typescript and the client openapi-fetch. */

import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { argv: string[] };
const [url, key, hook] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });

function found<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const destination = found(
  await api.POST("/destinations", {
    body: { name: "Orders", url: hook, delivery: { ordering: "KEY", retrySchedule: [1, 5, 30] } },
  }),
);
const rule = found(
  await api.POST("/routing-rules", {
    body: { name: "All about orders", destinationId: destination.id, eventTypes: ["order.*"] },
  }),
);
const body = {
  eventType: "order.created",
  payload: { order: 42, total: "19.90" },
  idempotencyKey: "order-42-created",
};
const sent = found(await api.POST("/events", { body }));
const again = found(await api.POST("/events", { body }));
const path = { id: sent.id };
const until = Date.now() + 60_000;
let status = "PENDING";
let id = "";
while (status !== "DELIVERED" && Date.now() < until) {
  const [first] = found(await api.GET("/events/{id}/deliveries", { params: { path } })).items;
  if (first === undefined) throw new Error("no delivery");
  ({ id, status } = first);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
const delivery = found(await api.GET("/deliveries/{id}", { params: { path: { id } } }));
const health = found(
  await api.GET("/destinations/{id}/health", { params: { path: { id: destination.id } } }),
);
const missing = await api.GET("/deliveries/{id}", { params: { path: { id: rule.id } } });
console.log(
  JSON.stringify({
    enabled: rule.enabled,
    duplicate: [sent.duplicate, again.duplicate],
    same: sent.id === again.id,
    status: delivery.status,
    response: delivery.attempts[0]?.responseStatus,
    circuit: health.circuit.state,
    error: [missing.response.status, missing.error?.code],
  }),
);
