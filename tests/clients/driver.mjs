// A driver of the TypeScript client: it answers each line of JSON with a line. argv: built module, address, key.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [module, url, key] = process.argv.slice(2);
const library = await import(pathToFileURL(module).href);
const client = new library.Angarium({ url, key, timeoutMs: 20_000, retry: { firstDelayMs: 1 } });

async function perform({ method, path = [], fields }) {
  if (method === "verify") return library.verify(fields.body, fields.headers, fields.secret, { now: fields.now });
  if (method === "sign") return library.sign(fields.body, fields.secret, fields.id, fields.timestamp);
  if (method === "produce") return produce(fields);
  if (method === "files.create") return client.files.create(new TextEncoder().encode(path[0]), fields);
  const names = method.split(".");
  const name = names.pop();
  const group = names.reduce((object, each) => object[each], client);
  const found = group[name](...path, ...(fields === undefined ? [] : [fields]));
  if (!(Symbol.asyncIterator in found)) return found;
  const items = [];
  for await (const item of found) items.push(item);
  return items;
}

async function produce({ events, options }) {
  const producer = client.producer(options);
  for (const event of events) await producer.add(event);
  return producer.close();
}

for await (const line of createInterface({ input: process.stdin })) {
  let told;
  try {
    told = { value: (await perform(JSON.parse(line))) ?? null };
  } catch (error) {
    const { name, message, status = null, code = null, details = [], failed = null } = error;
    told = { error: { name, message, status, code, details, failed } };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
