// A receiver of webhooks: WEBHOOK_SECRET=whsec_... PORT=9000 node receiver.mjs
import { createServer } from "node:http";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const MAX_BODY = 1 << 20; // bytes
const WAITING = 1000; // events that may wait for the worker
const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// These stand for a table with a unique key: INSERT ... ON CONFLICT (id) DO NOTHING.
const seen = new Set();
const inbox = [];

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= MAX_BODY) parts.push(part);
  }
  return size <= MAX_BODY ? Buffer.concat(parts) : undefined;
}

function statusOf(body, headers) {
  if (body === undefined) return 413;
  let event;
  try {
    event = webhook.verify(body, headers);
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 401;
    throw error;
  }
  const id = headers["webhook-id"];
  if (seen.has(id)) {
    console.log("seen before", id);
    return 204;
  }
  if (inbox.length >= WAITING) return 503; // Angarium tries again
  seen.add(id);
  inbox.push(event);
  setImmediate(work);
  return 204;
}

// Events are handled after their requests have been answered.
function work() {
  const event = inbox.shift();
  console.log("handled", event.type);
}

const server = createServer(async (request, response) => {
  if (request.method !== "POST" || request.url !== "/hooks") return response.writeHead(404).end();
  const body = await bodyOf(request);
  return response.writeHead(statusOf(body, request.headers)).end();
});
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("Listening on", server.address().port));
