/** The producer, which takes events one by one and sends them in batches. */

import { AngariumError, ApiError, ConnectionFailedError, EventsFailedError, UnexpectedAnswerError } from "./errors.js";
import type { BatchResult, EventInput } from "./shapes.js";
import type { Transport } from "./transport.js";

const BUFFER_EVENTS = 10_000;
const BATCH_EVENTS = 500;
const MOST_EVENTS = 1_000; // the service's limit of a batch
const BATCH_BYTES = 4 * 1024 * 1024; // the service accepts 5 MiB
const CHARACTER_BYTES = 3; // the most UTF-8 bytes of a UTF-16 unit
const LINGER_MS = 5;
const FAILURES_KEPT = 20;

export interface ProducerOptions {
  /** The most events without an outcome; beyond this, `add` and `send` wait for room. */
  bufferEvents?: number;
  /** The most events in one request. */
  batchEvents?: number;
  /** How long a batch's first event waits for others. */
  lingerMs?: number;
  /** Concurrent requests. With more than 1, batches can overtake each other. */
  inFlight?: number;
}

/** A durable event. `duplicate`: the service had accepted its idempotency key before. */
export interface Sent {
  id: string;
  duplicate: boolean;
  deliveries: number;
}

/** The numbers of outcomes since the last report. Failures that `send` threw are not counted. `errors`: those of
 * the first 20 failed events. */
export interface Report {
  accepted: number;
  duplicates: number;
  failed: number;
  errors: readonly AngariumError[];
}

interface Waiting {
  text: string;
  settle: ((outcome: Sent | AngariumError) => void) | null;
}

/** A producer, which sends events in batches, in order. Close it at the end. */
export class Producer {
  readonly #transport: Transport;
  readonly #most: number;
  readonly #batch: number;
  readonly #lingerMs: number;
  readonly #inFlight: number;
  #waiting: Waiting[] = [];
  #unsettled = 0;
  #running = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  #report = emptyReport();
  #room: (() => void)[] = [];
  #drained: (() => void)[] = [];

  constructor(transport: Transport, options: ProducerOptions = {}) {
    this.#transport = transport;
    this.#most = options.bufferEvents ?? BUFFER_EVENTS;
    this.#batch = Math.min(options.batchEvents ?? BATCH_EVENTS, this.#most);
    if (this.#most < 1 || this.#batch < 1 || this.#batch > MOST_EVENTS) {
      throw new RangeError(`bufferEvents is at least 1, batchEvents 1 to ${MOST_EVENTS}`);
    }
    this.#lingerMs = options.lingerMs ?? LINGER_MS;
    this.#inFlight = Math.max(1, options.inFlight ?? 1);
  }

  /** Queue an event, waiting for room. The report of `flush` counts its outcome. */
  async add(event: EventInput): Promise<void> {
    while (this.#unsettled >= this.#most) await new Promise<void>((resolve) => this.#room.push(resolve));
    this.#take(event, null);
  }

  /** Send an event, and wait until it is durable. Throws AngariumError if it is not accepted. */
  async send(event: EventInput): Promise<Sent> {
    while (this.#unsettled >= this.#most) await new Promise<void>((resolve) => this.#room.push(resolve));
    return new Promise((resolve, reject) => {
      this.#take(event, (outcome) => (outcome instanceof AngariumError ? reject(outcome) : resolve(outcome)));
    });
  }

  /** Wait until every event has an outcome; return the report since the last one. */
  async flush(): Promise<Report> {
    while (this.#unsettled > 0) {
      this.#begin();
      await new Promise<void>((resolve) => this.#drained.push(resolve));
    }
    const report = this.#report;
    this.#report = emptyReport();
    return report;
  }

  /** Refuse further events, and wait for all outcomes. Throws EventsFailedError if events failed since the last
   * flush. */
  async close(): Promise<Report> {
    this.#closed = true;
    const report = await this.flush();
    if (report.failed > 0) throw new EventsFailedError(report.failed, report.errors);
    return report;
  }

  #take(event: EventInput, settle: Waiting["settle"]): void {
    if (this.#closed) throw new AngariumError("the producer is closed");
    const keyed = event.idempotencyKey ? event : { ...event, idempotencyKey: crypto.randomUUID() };
    this.#waiting.push({ text: JSON.stringify(keyed), settle });
    this.#unsettled += 1;
    if (this.#waiting.length >= this.#batch) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), this.#lingerMs);
  }

  /** Send the waiting events in as many requests as `inFlight` allows. */
  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#running < this.#inFlight && this.#waiting.length > 0) {
      const batch = this.#cut();
      this.#running += 1;
      void this.#sent(batch).finally(() => {
        this.#running -= 1;
        this.#unsettled -= batch.length;
        for (const resolve of this.#room.splice(0)) resolve();
        if (this.#unsettled === 0) for (const resolve of this.#drained.splice(0)) resolve();
        this.#begin();
      });
    }
  }

  /** Remove and return the next batch: the oldest events that fit into a request. */
  #cut(): Waiting[] {
    let count = 0;
    let bytes = 0;
    while (count < Math.min(this.#batch, this.#waiting.length)) {
      bytes += (this.#waiting[count] as Waiting).text.length * CHARACTER_BYTES;
      if (bytes > BATCH_BYTES && count > 0) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #sent(batch: Waiting[]): Promise<void> {
    const body = `{"events":[${batch.map((each) => each.text).join(",")}]}`;
    try {
      const answer = await this.#transport.json<BatchResult>({ method: "POST", path: "/events/batch", body });
      batch.forEach((each, index) => this.#settle(each, outcomeOf(answer, index)));
    } catch (error) {
      const why = error instanceof AngariumError ? error : new ConnectionFailedError(String(error), { cause: error });
      for (const each of batch) this.#settle(each, why);
    }
  }

  #settle(event: Waiting, outcome: Sent | AngariumError): void {
    if (!(outcome instanceof AngariumError)) {
      this.#report.accepted += 1;
      if (outcome.duplicate) this.#report.duplicates += 1;
    } else if (event.settle === null) {
      this.#report.failed += 1;
      if (this.#report.errors.length < FAILURES_KEPT) this.#report.errors.push(outcome);
    }
    event.settle?.(outcome);
  }
}

function emptyReport(): Report & { errors: AngariumError[] } {
  return { accepted: 0, duplicates: 0, failed: 0, errors: [] };
}

function outcomeOf(answer: BatchResult, index: number): Sent | AngariumError {
  const entry = answer.results[index];
  if (entry === undefined) return new UnexpectedAnswerError("the answer to a batch does not have every event");
  if (entry.error !== null) return new ApiError(400, entry.error.code, entry.error.message, entry.error.details);
  return { id: entry.id as string, duplicate: entry.status === "DUPLICATE", deliveries: entry.deliveries ?? 0 };
}
