/** All resources: those with handwritten methods (events, files, streams and replays), and the generated ones. */

import { readEvents } from "./event_stream.js";
import type { CallOptions } from "./resource.js";
import {
  EventsResource as MadeEvents,
  FilesResource as MadeFiles,
  ObservabilityResource as MadeObservability,
  ReplayJobsResource as MadeReplayJobs,
} from "./resources.js";
import type { BatchResult, Environment, EventInput, FileReceipt, IngestResult, ReplayProgress } from "./shapes.js";

// A class of this module takes the place of the generated class of its name.
export * from "./resources.js";

const FINISHED = new Set(["COMPLETED", "FAILED", "CANCELLED"]);
const LOOK_EVERY_MS = 1_000;
const OCTETS = "application/octet-stream";

export class EventsResource extends MadeEvents {
  /** Send an event. It is durable when the promise resolves. Without an idempotency key, the client makes one,
   * so that a retry makes no second event. */
  send(event: EventInput, options?: CallOptions): Promise<IngestResult> {
    return this.call({ method: "POST", path: "/events", body: keyed(event) }, options);
  }

  /** Send up to 1,000 events at once. A refused event does not affect the others. */
  sendBatch(events: readonly EventInput[], options?: CallOptions): Promise<BatchResult> {
    return this.call({ method: "POST", path: "/events/batch", body: { events: events.map(keyed) } }, options);
  }
}

/** The properties of a file beside its bytes. */
export interface UploadOptions extends CallOptions {
  environment?: Environment;
  fileName?: string;
  contentType?: string;
  fileType?: string;
  metadata?: Record<string, unknown>;
  eventType?: string;
  customerExternalId?: string;
  idempotencyKey?: string;
}

export class FilesResource extends MadeFiles {
  /** Upload a file, which becomes an event of `eventType`, by default `file.received`. */
  create(content: Uint8Array | Blob, given: UploadOptions = {}): Promise<FileReceipt> {
    const { signal, contentType = OCTETS, metadata, ...stated } = given;
    return this.call(
      {
        method: "POST",
        path: "/files",
        query: { ...stated, contentType, metadata: metadata && JSON.stringify(metadata) },
        body: content,
        contentType: OCTETS, // how the service reads the body: as bytes, even of a JSON file
        repeatable: given.idempotencyKey !== undefined,
      },
      signal === undefined ? {} : { signal },
    );
  }

  /** Return a file's bytes as a stream. */
  async content(fileId: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>> {
    const answer = await this.transport.open({ method: "GET", path: this.at("files", fileId, "content") }, options);
    return answer.body ?? new ReadableStream({ start: (end) => end.close() });
  }
}

/** The filter of a stream. */
export interface StreamQuery {
  environment?: Environment;
  topics?: string;
  destinationId?: string;
  customerExternalId?: string;
}

export class ObservabilityResource extends MadeObservability {
  /** Yield topics of the live stream with their data, until the stream ends. */
  async *stream(query: StreamQuery = {}, options?: CallOptions): AsyncGenerator<[topic: string, data: unknown]> {
    const answer = await this.transport.open({ method: "GET", path: "/stream", query: { ...query } }, options);
    if (answer.body !== null) yield* readEvents(answer.body);
  }
}

export class ReplayJobsResource extends MadeReplayJobs {
  /** Yield a job's progress until the job is finished. The last progress has the final status. */
  async *watch(jobId: string, options?: CallOptions & { everyMs?: number }): AsyncGenerator<ReplayProgress> {
    for (;;) {
      const progress = await this.progress(jobId, options);
      yield progress;
      if (FINISHED.has(progress.status)) return;
      await new Promise((resolve) => setTimeout(resolve, options?.everyMs ?? LOOK_EVERY_MS));
    }
  }
}

/** Return an event with an idempotency key. */
export function keyed(event: EventInput): EventInput {
  return event.idempotencyKey ? event : { ...event, idempotencyKey: crypto.randomUUID() };
}
