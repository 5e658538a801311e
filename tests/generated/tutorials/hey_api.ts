/** The tutorial by the client of hey-api (openapi-ts). */

import { createClient } from "./client/client/index.js";
import * as api from "./client/sdk.gen.js";

declare const process: { argv: string[] };
const [url, key, hook] = process.argv.slice(2) as [string, string, string];
const client = createClient({ baseUrl: url, auth: key });
const throwOnError = true as const;

async function main(): Promise<void> {
  const { data: destination } = await api.createDestination({
    client,
    throwOnError,
    body: { name: "Orders", url: hook, delivery: { ordering: "KEY", retrySchedule: [1, 5, 30] } },
  });
  const { data: rule } = await api.createRoutingRule({
    client,
    throwOnError,
    body: { name: "All about orders", destinationId: destination.id, eventTypes: ["order.*"] },
  });
  const body = {
    eventType: "order.created",
    payload: { order: 42, total: "19.90" },
    idempotencyKey: "order-42-created",
  };
  const { data: sent } = await api.ingestEvent({ client, throwOnError, body });
  const { data: again } = await api.ingestEvent({ client, throwOnError, body });
  const until = Date.now() + 60_000;
  let status = "PENDING";
  let id = "";
  while (status !== "DELIVERED" && Date.now() < until) {
    const { data: page } = await api.listDeliveriesOfEvent({
      client,
      throwOnError,
      path: { id: sent.id },
    });
    const [first] = page.items;
    if (first === undefined) throw new Error("no delivery");
    ({ id, status } = first);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { data: delivery } = await api.getDelivery({ client, throwOnError, path: { id } });
  const { data: health } = await api.getDestinationHealth({
    client,
    throwOnError,
    path: { id: destination.id },
  });
  const missing = await api.getDelivery({ client, path: { id: rule.id } });
  console.log(
    JSON.stringify({
      enabled: rule.enabled,
      duplicate: [sent.duplicate, again.duplicate],
      same: sent.id === again.id,
      status: delivery.status,
      response: delivery.attempts[0]?.responseStatus,
      circuit: health.circuit.state,
      error: [missing.response?.status, missing.error?.code],
    }),
  );
}

void main();
