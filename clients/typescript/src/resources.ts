// Made of the API's routes by `python -m api.generation`; do not edit.
/** The resources of the client: a method per operation. */

import { Resource, type CallOptions, type Page } from "./resource.js";
import type {
  Analytics,
  AnalyticsGranularity,
  AnalyticsPeriod,
  AnyDestinationDraft,
  ApiKey,
  ApiKeyWithSecret,
  Attempt,
  AuditEntry,
  BulkDiscard,
  BulkRetry,
  Counts,
  Customer,
  CustomerDraft,
  CustomerItem,
  Delivery,
  DeliveryExplanation,
  DeliveryItem,
  DeliveryKind,
  DeliveryStatus,
  Destination,
  DestinationHealth,
  DestinationPatch,
  DestinationStatus,
  DestinationSummary,
  DestinationTemplate,
  DestinationWithSecret,
  DlqEntry,
  DlqEntryOrNull,
  DlqGroup,
  DlqSelection,
  DlqStatus,
  EmbedContext,
  EmbedSession,
  Environment,
  EnvironmentAnalytics,
  ErrorCategory,
  Event,
  EventExplanation,
  EventItem,
  FileItem,
  Findings,
  InferenceDraft,
  InferredSchema,
  KeyDraft,
  Lane,
  Node,
  OrderDraft,
  OriginKind,
  PreviewDraft,
  PreviewInput,
  Priority,
  ReplayDraft,
  ReplayJob,
  ReplayJobDetail,
  ReplayPatch,
  ReplayProgress,
  ReplayStatus,
  Requeued,
  RoutingRule,
  RuleDraft,
  RulePatch,
  RulePreview,
  SampleDraft,
  SchemaDraft,
  SchemaStatus,
  SchemaVersion,
  SessionDraft,
  SettingsPatch,
  Success,
  TemplatePreview,
  TestResult,
  TransformDraft,
  TransformPreviewDraft,
  TransformRun,
  TransformScript,
  TrialDraft,
  Workspace,
} from "./shapes.js";

/** Events: send them one by one or in batches, and read them afterwards. */
export class EventsResource extends Resource {
  /**
   * List events: one page. The list includes events that no rule matched. If the search stopped
   * early, the page has `searchedTo`: the search has examined all events after this time. An embed
   * session sees its customer's events, with only the deliveries to its customer's destinations.
   */
  list(query: { limit?: number; examine?: number; environment?: Environment; eventType?: string | string[]; customerExternalId?: string | string[]; correlationId?: string | string[]; requestId?: string | string[]; idempotencyKey?: string | string[]; undelivered?: boolean; from?: string | Date; to?: string | Date } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<EventItem>> {
    return this.call({ method: "GET", path: "/events", query }, options);
  }

  /**
   * List events: all pages. The list includes events that no rule matched. If the search stopped
   * early, the page has `searchedTo`: the search has examined all events after this time. An embed
   * session sees its customer's events, with only the deliveries to its customer's destinations.
   */
  iterate(query: { limit?: number; examine?: number; environment?: Environment; eventType?: string | string[]; customerExternalId?: string | string[]; correlationId?: string | string[]; requestId?: string | string[]; idempotencyKey?: string | string[]; undelivered?: boolean; from?: string | Date; to?: string | Date } = {}, options?: CallOptions): AsyncIterable<EventItem> {
    return this.pages("/events", query, options);
  }

  /**
   * Show an event. `payload` and `metadata` have the same bytes as in the request. Each of the
   * `attachments` has the `source` FILE with the id of a file, whatever source the request gave.
   */
  get(eventId: string, options?: CallOptions): Promise<Event> {
    return this.call({ method: "GET", path: this.at("events", eventId) }, options);
  }

  /**
   * Erase an event's content. Erases payload, metadata, attachments and files of the event, and the
   * receivers' answers and script output of its deliveries. The event, its deliveries and all
   * counters stay: `payload` is null, and `erasedAt` is the time of erasure. Before that, waiting
   * deliveries are cancelled and dead letters discarded. The event can never be replayed again. 503
   * while an attempt is in flight; then nothing is erased. Backups keep the content.
   */
  erase(eventId: string, options?: CallOptions): Promise<Event> {
    return this.call({ method: "DELETE", path: this.at("events", eventId, "payload") }, options);
  }

  /**
   * Show the receivers of an event, and the reasons. Judges the event by the present rules, rule by
   * rule, with the values that filters read. Also lists the deliveries that were made when the
   * event was accepted. `changedSince` marks the rules that were created or changed after the
   * event.
   */
  explain(eventId: string, options?: CallOptions): Promise<EventExplanation> {
    return this.call({ method: "GET", path: this.at("events", eventId, "explain") }, options);
  }

  /** List an event's deliveries: one page. */
  deliveriesPage(eventId: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DeliveryItem>> {
    return this.call({ method: "GET", path: this.at("events", eventId, "deliveries"), query }, options);
  }

  /** List an event's deliveries: all pages. */
  deliveries(eventId: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<DeliveryItem> {
    return this.pages(this.at("events", eventId, "deliveries"), query, options);
  }
}

/** Uploaded files, and files that came with events. Receivers get signed URLs of them. */
export class FilesResource extends Resource {
  /**
   * List files: one page. Uploaded files, and files that came with events. An embed session sees
   * its customer's files.
   */
  list(query: { limit?: number; environment?: Environment; state?: "PENDING" | "STORED" | "FAILED" | ("PENDING" | "STORED" | "FAILED")[]; purpose?: "UPLOAD" | "ATTACHMENT" | ("UPLOAD" | "ATTACHMENT")[]; customerExternalId?: string | string[]; from?: string | Date; to?: string | Date } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<FileItem>> {
    return this.call({ method: "GET", path: "/files", query }, options);
  }

  /**
   * List files: all pages. Uploaded files, and files that came with events. An embed session sees
   * its customer's files.
   */
  iterate(query: { limit?: number; environment?: Environment; state?: "PENDING" | "STORED" | "FAILED" | ("PENDING" | "STORED" | "FAILED")[]; purpose?: "UPLOAD" | "ATTACHMENT" | ("UPLOAD" | "ATTACHMENT")[]; customerExternalId?: string | string[]; from?: string | Date; to?: string | Date } = {}, options?: CallOptions): AsyncIterable<FileItem> {
    return this.pages("/files", query, options);
  }

  /** Show a file. */
  get(fileId: string, options?: CallOptions): Promise<FileItem> {
    return this.call({ method: "GET", path: this.at("files", fileId) }, options);
  }
}

/** The receivers of events, with their settings: order, rate, retries, signing. */
export class DestinationsResource extends Resource {
  /**
   * Create a destination. Only this answer has the signing secret. `secret` sets your own secret.
   * `customerExternalId` creates the account of a new customer. A destination that an embed session
   * creates belongs to its customer. There are two forms. With `url`: the receiver gets the event
   * unchanged. With `templateId` and `config`: the template makes URL, headers and body. The
   * template's defaults, such as the service's rate limit, apply to missing fields of `delivery`.
   * `authentication` says how requests authenticate: with a password, a token, tokens from a token
   * endpoint, or a client certificate. All kinds except MTLS set the header Authorization; then
   * `headers` cannot set it.
   */
  create(body: AnyDestinationDraft, options?: CallOptions): Promise<DestinationWithSecret> {
    return this.call({ method: "POST", path: "/destinations", body, repeatable: false }, options);
  }

  /** List destinations: one page. */
  list(query: { limit?: number; environment?: Environment; status?: DestinationStatus | DestinationStatus[]; customerAccountId?: string } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<Destination>> {
    return this.call({ method: "GET", path: "/destinations", query }, options);
  }

  /** List destinations: all pages. */
  iterate(query: { limit?: number; environment?: Environment; status?: DestinationStatus | DestinationStatus[]; customerAccountId?: string } = {}, options?: CallOptions): AsyncIterable<Destination> {
    return this.pages("/destinations", query, options);
  }

  /** Show a destination. */
  get(destinationId: string, options?: CallOptions): Promise<Destination> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId) }, options);
  }

  /**
   * Change a destination. A merge patch (RFC 7396): null puts a field back to its default, and
   * removes a header. The change applies to attempts that begin later. With `rotateSecret` the
   * answer has a new secret. The former secret also signs for `graceSeconds` (by default 86400); 0
   * ends every former secret at once. A mask (`***`) keeps the stored value. If the URL's scheme,
   * host or port changes, give each masked header again, or remove it. The same holds for the
   * secrets of `authentication`, also if its `tokenUrl` changes. Another `kind` replaces the whole
   * `authentication`, and null removes it. For a destination from a template, `config` is merged
   * too. A mask keeps the stored secret, but if the requests go to another host, give all secrets
   * again. `templateId` cannot be changed, and the template makes `url`.
   */
  update(destinationId: string, body: DestinationPatch, options?: CallOptions): Promise<DestinationWithSecret> {
    return this.call({ method: "PATCH", path: this.at("destinations", destinationId), body, repeatable: !body.rotateSecret }, options);
  }

  /**
   * Archive a destination. Waiting deliveries and dead letters of the destination are discarded.
   * The destination stays readable.
   */
  archive(destinationId: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "DELETE", path: this.at("destinations", destinationId) }, options);
  }

  /** Enable a destination. The deliveries that were held as PENDING are sent. */
  enable(destinationId: string, options?: CallOptions): Promise<Destination> {
    return this.call({ method: "POST", path: this.at("destinations", destinationId, "enable"), body: {} }, options);
  }

  /** Disable a destination. Its deliveries are held as PENDING until the destination is enabled. */
  disable(destinationId: string, options?: CallOptions): Promise<Destination> {
    return this.call({ method: "POST", path: this.at("destinations", destinationId, "disable"), body: {} }, options);
  }

  /**
   * List destinations with their health and their last 24 hours: one page. Archived destinations
   * are left out. With the order `trouble`, failing destinations and disabled ones with waiting
   * deliveries come first, then degraded, healthy, idle, and other disabled ones. Within each kind
   * the longest queue comes first. A destination that has not recovered counts as failing, even if
   * no delivery waits for it. The order is at most a second old: a destination can move between two
   * pages.
   */
  summariesPage(query: { limit?: number; environment?: Environment; name?: string; state?: "HEALTHY" | "DEGRADED" | "FAILING" | "IDLE" | "DISABLED" | ("HEALTHY" | "DEGRADED" | "FAILING" | "IDLE" | "DISABLED")[]; customerExternalId?: string | string[]; sort?: "trouble" | "pending" | "age" | "name" } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DestinationSummary>> {
    return this.call({ method: "GET", path: "/destinations/summaries", query }, options);
  }

  /**
   * List destinations with their health and their last 24 hours: all pages. Archived destinations
   * are left out. With the order `trouble`, failing destinations and disabled ones with waiting
   * deliveries come first, then degraded, healthy, idle, and other disabled ones. Within each kind
   * the longest queue comes first. A destination that has not recovered counts as failing, even if
   * no delivery waits for it. The order is at most a second old: a destination can move between two
   * pages.
   */
  summaries(query: { limit?: number; environment?: Environment; name?: string; state?: "HEALTHY" | "DEGRADED" | "FAILING" | "IDLE" | "DISABLED" | ("HEALTHY" | "DEGRADED" | "FAILING" | "IDLE" | "DISABLED")[]; customerExternalId?: string | string[]; sort?: "trouble" | "pending" | "age" | "name" } = {}, options?: CallOptions): AsyncIterable<DestinationSummary> {
    return this.pages("/destinations/summaries", query, options);
  }

  /**
   * Lift the hold on a destination. Ends the pause that the receiver asked for with Retry-After. An
   * open circuit sends a probe at once, and closes if the probe succeeds. The answer is the
   * destination's health, which can still show the hold for a moment. 409 if the destination is
   * DISABLED or ARCHIVED.
   */
  resume(destinationId: string, options?: CallOptions): Promise<DestinationHealth> {
    return this.call({ method: "POST", path: this.at("destinations", destinationId, "resume"), body: {} }, options);
  }

  /**
   * Send a signed sample. Sends a sample event at once, also to a disabled destination, and beside
   * its limit of concurrency. The delivery is recorded with the origin INSPECTION, never retried
   * and not counted. With `dryRun` nothing is sent: `request` is the request without its signature
   * and with masked values, and `success` is true if the request can be made.
   */
  test(destinationId: string, body: SampleDraft = {}, options?: CallOptions): Promise<TestResult> {
    return this.call({ method: "POST", path: this.at("destinations", destinationId, "test"), body, repeatable: false, takesMs: 75000 }, options);
  }

  /** Show the health of a destination. */
  health(destinationId: string, options?: CallOptions): Promise<DestinationHealth> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId, "health") }, options);
  }

  /** List a destination's deliveries: one page. */
  deliveriesPage(destinationId: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DeliveryItem>> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId, "deliveries"), query }, options);
  }

  /** List a destination's deliveries: all pages. */
  deliveries(destinationId: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<DeliveryItem> {
    return this.pages(this.at("destinations", destinationId, "deliveries"), query, options);
  }

  /**
   * List a destination's lanes: one page. Lists the ordered lanes with waiting deliveries. The lane
   * whose head, its first delivery, is the oldest comes first. A destination with ordering NONE has
   * no lanes. The server examines the destination's 5,000 oldest unsettled deliveries; if there are
   * more, `atLeast` is true.
   */
  lanesPage(destinationId: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<Lane>> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId, "lanes"), query }, options);
  }

  /**
   * List a destination's lanes: all pages. Lists the ordered lanes with waiting deliveries. The
   * lane whose head, its first delivery, is the oldest comes first. A destination with ordering
   * NONE has no lanes. The server examines the destination's 5,000 oldest unsettled deliveries; if
   * there are more, `atLeast` is true.
   */
  lanes(destinationId: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<Lane> {
    return this.pages(this.at("destinations", destinationId, "lanes"), query, options);
  }

  /**
   * Show a destination's counters over a period. Replays count; samples (INSPECTION) and dry runs
   * do not. The counters are written together with the delivery log, so they equal its rows. The
   * period ends with the present minute, and is the same at every granularity. Points are minutes,
   * hours or days in UTC; the period cuts off the first and the last point. Every granularity is
   * allowed with every period. Latency is interpolated within buckets; each bucket's bound is 1.6
   * times the one before. Counters stay for 31 days, whatever the plan's retention is.
   */
  analytics(destinationId: string, query: { period?: AnalyticsPeriod; granularity?: AnalyticsGranularity } = {}, options?: CallOptions): Promise<Analytics> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId, "analytics"), query }, options);
  }
}

/** The catalog of services for which destinations can be created. */
export class TemplatesResource extends Resource {
  /**
   * List the catalog of templates: one page. Sorted by name. The catalog is the same for all
   * workspaces and environments.
   */
  list(query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DestinationTemplate>> {
    return this.call({ method: "GET", path: "/destination-templates", query }, options);
  }

  /**
   * List the catalog of templates: all pages. Sorted by name. The catalog is the same for all
   * workspaces and environments.
   */
  iterate(query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<DestinationTemplate> {
    return this.pages("/destination-templates", query, options);
  }

  /** Show a template. */
  get(templateId: string, options?: CallOptions): Promise<DestinationTemplate> {
    return this.call({ method: "GET", path: this.at("destination-templates", templateId) }, options);
  }

  /**
   * Try a template on an event. Shows the request to the service, with masks for secrets. Nothing
   * is sent or stored, so scope `read` is enough. `errors` lists the errors of `config`, and the
   * reasons why the event does not fit the service's format. A destination's transform script is
   * not run.
   */
  preview(templateId: string, body: PreviewDraft, options?: CallOptions): Promise<TemplatePreview> {
    return this.call({ method: "POST", path: this.at("destination-templates", templateId, "preview"), body }, options);
  }
}

/** The rules that select the destinations of events. */
export class RoutingRulesResource extends Resource {
  /**
   * Create a routing rule. If several rules of a destination match an event, they make one
   * delivery, with the highest priority of these rules. One event type can have at most 100 rules
   * with a filter for the destinations of one customer, and 100 for the destinations of no
   * customer. A filter that fails for an event does not match; `filterErrors` counts such failures.
   * 402 if the plan, or the quota of the session's customer, has no room for another rule.
   */
  create(body: RuleDraft, options?: CallOptions): Promise<RoutingRule> {
    return this.call({ method: "POST", path: "/routing-rules", body, repeatable: false }, options);
  }

  /** List routing rules: one page. */
  list(query: { limit?: number; destinationId?: string | string[]; enabled?: boolean } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<RoutingRule>> {
    return this.call({ method: "GET", path: "/routing-rules", query }, options);
  }

  /** List routing rules: all pages. */
  iterate(query: { limit?: number; destinationId?: string | string[]; enabled?: boolean } = {}, options?: CallOptions): AsyncIterable<RoutingRule> {
    return this.pages("/routing-rules", query, options);
  }

  /** Show a routing rule. */
  get(ruleId: string, options?: CallOptions): Promise<RoutingRule> {
    return this.call({ method: "GET", path: this.at("routing-rules", ruleId) }, options);
  }

  /** Change a routing rule. A merge patch (RFC 7396). */
  update(ruleId: string, body: RulePatch, options?: CallOptions): Promise<RoutingRule> {
    return this.call({ method: "PATCH", path: this.at("routing-rules", ruleId), body }, options);
  }

  /** Delete a routing rule. */
  delete(ruleId: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "DELETE", path: this.at("routing-rules", ruleId), goneIsDone: true }, options);
  }

  /**
   * Try an event on the rules. Shows the destinations that an example event would reach, and the
   * result of each rule for its type. Nothing is sent or stored, so scope `read` is enough. `rule`
   * is an additional rule to try.
   */
  preview(body: PreviewInput, options?: CallOptions): Promise<RulePreview> {
    return this.call({ method: "POST", path: "/routing-rules/preview", body }, options);
  }

  /** Enable a routing rule. */
  enable(ruleId: string, options?: CallOptions): Promise<RoutingRule> {
    return this.call({ method: "POST", path: this.at("routing-rules", ruleId, "enable"), body: {} }, options);
  }

  /** Disable a routing rule. */
  disable(ruleId: string, options?: CallOptions): Promise<RoutingRule> {
    return this.call({ method: "POST", path: this.at("routing-rules", ruleId, "disable"), body: {} }, options);
  }
}

/** JSON Schemas for the payloads of event types, in versions. One version is active. */
export class SchemasResource extends Resource {
  /**
   * Create a version of an event schema. The schema becomes the next version for its event type, a
   * DRAFT. Events are checked once it is activated. A schema has at most 64 KiB and 1,000
   * expansions of `$ref`, which must stay within the document.
   */
  create(body: SchemaDraft, options?: CallOptions): Promise<SchemaVersion> {
    return this.call({ method: "POST", path: "/schemas", body, repeatable: false }, options);
  }

  /** List versions of event schemas: one page. */
  list(query: { limit?: number; eventType?: string | string[]; status?: SchemaStatus | SchemaStatus[] } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<SchemaVersion>> {
    return this.call({ method: "GET", path: "/schemas", query }, options);
  }

  /** List versions of event schemas: all pages. */
  iterate(query: { limit?: number; eventType?: string | string[]; status?: SchemaStatus | SchemaStatus[] } = {}, options?: CallOptions): AsyncIterable<SchemaVersion> {
    return this.pages("/schemas", query, options);
  }

  /**
   * Infer a schema from recent events. Reads the newest events of a type: at most `sample` of them,
   * and 4 MiB, from the latest 20,000 events. All of the read events conform to the schema.
   */
  infer(body: InferenceDraft, options?: CallOptions): Promise<InferredSchema> {
    return this.call({ method: "POST", path: "/schemas/infer", body, repeatable: !body.create }, options);
  }

  /** List the versions of an event type's schema: one page. */
  versionsPage(eventType: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<SchemaVersion>> {
    return this.call({ method: "GET", path: this.at("schemas", "types", eventType, "versions"), query }, options);
  }

  /** List the versions of an event type's schema: all pages. */
  versions(eventType: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<SchemaVersion> {
    return this.pages(this.at("schemas", "types", eventType, "versions"), query, options);
  }

  /** Show the active schema of an event type. */
  active(eventType: string, options?: CallOptions): Promise<SchemaVersion> {
    return this.call({ method: "GET", path: this.at("schemas", "types", eventType, "active") }, options);
  }

  /** Show a version of an event schema. */
  get(schemaId: string, options?: CallOptions): Promise<SchemaVersion> {
    return this.call({ method: "GET", path: this.at("schemas", schemaId) }, options);
  }

  /**
   * Activate a version of an event schema. From now on, events of the schema's type must conform to
   * this version. The version that was active becomes DEPRECATED. An event that does not conform
   * gets 400 `schema_violation` with the failing paths.
   */
  activate(schemaId: string, options?: CallOptions): Promise<SchemaVersion> {
    return this.call({ method: "POST", path: this.at("schemas", schemaId, "activate"), body: {}, repeatable: false }, options);
  }

  /**
   * Deprecate the active version of an event schema. From now on, events of its type are not
   * checked, until a version is activated.
   */
  deprecate(schemaId: string, options?: CallOptions): Promise<SchemaVersion> {
    return this.call({ method: "POST", path: this.at("schemas", schemaId, "deprecate"), body: {}, repeatable: false }, options);
  }
}

/** JavaScript that changes a destination's requests. One version is published. */
export class TransformScriptsResource extends Resource {
  /**
   * Create a version of a transform script. `source` is JavaScript with `function transform(event)
   * { return ...; }` over the outbound body. It becomes the next version for its destination, a
   * DRAFT, and is used once it is published. A script has at most 64 KiB (413). A script that does
   * not compile gets 400 with the line. 402 if the plan has no scripts, or no room for another one.
   */
  create(body: TransformDraft, options?: CallOptions): Promise<TransformScript> {
    return this.call({ method: "POST", path: "/transform-scripts", body, repeatable: false }, options);
  }

  /**
   * List a destination's transform scripts: one page. A page has a limit in bytes too, because
   * scripts can be long. A page can therefore hold fewer than `limit` scripts and still have a
   * `nextCursor`.
   */
  ofDestinationPage(destinationId: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<TransformScript>> {
    return this.call({ method: "GET", path: this.at("destinations", destinationId, "transform-scripts"), query }, options);
  }

  /**
   * List a destination's transform scripts: all pages. A page has a limit in bytes too, because
   * scripts can be long. A page can therefore hold fewer than `limit` scripts and still have a
   * `nextCursor`.
   */
  ofDestination(destinationId: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<TransformScript> {
    return this.pages(this.at("destinations", destinationId, "transform-scripts"), query, options);
  }

  /** Show a version of a transform script. */
  get(scriptId: string, options?: CallOptions): Promise<TransformScript> {
    return this.call({ method: "GET", path: this.at("transform-scripts", scriptId) }, options);
  }

  /**
   * Delete a version of a transform script. You cannot delete a PUBLISHED version. A deleted
   * version no longer counts against the plan's limit. Its number is never used again.
   */
  delete(scriptId: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "DELETE", path: this.at("transform-scripts", scriptId), goneIsDone: true }, options);
  }

  /**
   * Publish a version of a transform script. Every attempt that begins from now on uses this
   * version, including retries. The version that was PUBLISHED becomes SUPERSEDED. To roll back,
   * publish an earlier version. Publishing the PUBLISHED version again changes nothing.
   */
  publish(scriptId: string, options?: CallOptions): Promise<TransformScript> {
    return this.call({ method: "POST", path: this.at("transform-scripts", scriptId, "publish"), body: {} }, options);
  }

  /**
   * Unpublish a transform script. Attempts that begin from now on send the event's own body. 409 if
   * this version is not the PUBLISHED one.
   */
  unpublish(scriptId: string, options?: CallOptions): Promise<TransformScript> {
    return this.call({ method: "POST", path: this.at("transform-scripts", scriptId, "unpublish"), body: {}, repeatable: false }, options);
  }

  /**
   * Run a transform script without storing it. Runs `source` as a script of the destination over
   * `event`, an outbound body, or over the outbound body of the event `eventId`. Nothing is stored,
   * sent or recorded. If the script fails or does not compile, the answer is 200 with `success`
   * false. 402 if the plan has no scripts.
   */
  preview(body: TransformPreviewDraft, options?: CallOptions): Promise<TransformRun> {
    return this.call({ method: "POST", path: "/transform-scripts/preview", body }, options);
  }

  /**
   * Run a version of a transform script over an event. Runs the version, published or not, over
   * `event`, an outbound body, or over the outbound body of the event `eventId`. Nothing is sent,
   * changed or recorded. If the script fails, the answer is 200 with `success` false.
   */
  run(scriptId: string, body: TrialDraft, options?: CallOptions): Promise<TransformRun> {
    return this.call({ method: "POST", path: this.at("transform-scripts", scriptId, "run"), body }, options);
  }
}

/** The deliveries of events to destinations, with every attempt. */
export class DeliveriesResource extends Resource {
  /**
   * List deliveries: one page. A search for rare values stops after a limited time. A page can then
   * hold fewer than `limit` deliveries, even none, and still have a `nextCursor`. Such a page has
   * `searchedTo`: the search has examined all deliveries after this time.
   */
  list(query: { limit?: number; examine?: number; eventId?: string | string[]; destinationId?: string | string[]; environment?: Environment; status?: DeliveryStatus | DeliveryStatus[]; from?: string | Date; to?: string | Date; isReplay?: boolean; errorCategory?: ErrorCategory | ErrorCategory[]; priority?: Priority | Priority[]; dlqStatus?: DlqStatus | DlqStatus[]; kind?: DeliveryKind | DeliveryKind[]; originKind?: OriginKind | OriginKind[]; eventType?: string | string[]; customerExternalId?: string | string[]; responseStatus?: number | number[]; replayJobId?: string | string[] } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DeliveryItem>> {
    return this.call({ method: "GET", path: "/deliveries", query }, options);
  }

  /**
   * List deliveries: all pages. A search for rare values stops after a limited time. A page can
   * then hold fewer than `limit` deliveries, even none, and still have a `nextCursor`. Such a page
   * has `searchedTo`: the search has examined all deliveries after this time.
   */
  iterate(query: { limit?: number; examine?: number; eventId?: string | string[]; destinationId?: string | string[]; environment?: Environment; status?: DeliveryStatus | DeliveryStatus[]; from?: string | Date; to?: string | Date; isReplay?: boolean; errorCategory?: ErrorCategory | ErrorCategory[]; priority?: Priority | Priority[]; dlqStatus?: DlqStatus | DlqStatus[]; kind?: DeliveryKind | DeliveryKind[]; originKind?: OriginKind | OriginKind[]; eventType?: string | string[]; customerExternalId?: string | string[]; responseStatus?: number | number[]; replayJobId?: string | string[] } = {}, options?: CallOptions): AsyncIterable<DeliveryItem> {
    return this.pages("/deliveries", query, options);
  }

  /**
   * Show a delivery with its attempts. Shows the newest attempts: at most 100, and fewer if
   * receivers' answers are large (512 KiB in all). If `attemptsCursor` is null, there are no
   * earlier attempts. Otherwise give it as `cursor` to `GET /deliveries/{id}/attempts`.
   */
  get(deliveryId: string, options?: CallOptions): Promise<Delivery> {
    return this.call({ method: "GET", path: this.at("deliveries", deliveryId) }, options);
  }

  /**
   * List a delivery's attempts: one page. Newest first. A page ends early if receivers' answers are
   * large.
   */
  attemptsPage(deliveryId: string, query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<Attempt>> {
    return this.call({ method: "GET", path: this.at("deliveries", deliveryId, "attempts"), query }, options);
  }

  /**
   * List a delivery's attempts: all pages. Newest first. A page ends early if receivers' answers
   * are large.
   */
  attempts(deliveryId: string, query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<Attempt> {
    return this.pages(this.at("deliveries", deliveryId, "attempts"), query, options);
  }

  /**
   * Retry a delivery now. A PENDING or RETRYING delivery becomes due now. If the attempt fails, its
   * schedule continues. An open circuit or a Retry-After of the destination does not hold it. It
   * still waits for earlier deliveries of its ordered lane, for the destination's concurrency and
   * rate limit, and while the destination is DISABLED. A dead letter is retried as by `POST
   * /dlq/{deliveryId}/retry`. 409 if the delivery was delivered or discarded: replay its event
   * instead.
   */
  retry(deliveryId: string, options?: CallOptions): Promise<DeliveryItem> {
    return this.call({ method: "POST", path: this.at("deliveries", deliveryId, "retry"), body: {}, repeatable: false }, options);
  }

  /**
   * Cancel a delivery. A PENDING or RETRYING delivery becomes FAILED and DISCARDED, with the
   * `lastError` `cancelled`. Its lane continues. An attempt in flight ends first; until then the
   * delivery is DELIVERING. If that attempt succeeds, the delivery becomes DELIVERED. 409 if the
   * delivery has ended.
   */
  cancel(deliveryId: string, options?: CallOptions): Promise<DeliveryItem> {
    return this.call({ method: "POST", path: this.at("deliveries", deliveryId, "cancel"), body: {} }, options);
  }

  /**
   * Retry all deliveries that match. Creates a job of the kind RETRY, in the shape of replay jobs:
   * `GET /replay-jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends it.
   * For each delivery the job does the same as `POST /deliveries/{id}/retry`. It is COMPLETED when
   * all deliveries are due or attempted, and PAUSED while the destination is DISABLED. Deliveries
   * accepted after the job was created are left out. For dead letters use `POST /dlq/retry`.
   */
  retryAll(body: OrderDraft, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "POST", path: "/deliveries/retry", body, repeatable: false }, options);
  }

  /**
   * Cancel all deliveries that match. Creates a job of the kind CANCEL, in the shape of replay
   * jobs: `GET /replay-jobs/{id}/progress` shows its progress, `POST /replay-jobs/{id}/cancel` ends
   * it. For each delivery the job does the same as `POST /deliveries/{id}/cancel`, even while the
   * destination is DISABLED. `skipped` counts deliveries that ended before they could be cancelled.
   * Deliveries accepted after the job was created are left out.
   */
  cancelAll(body: OrderDraft, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "POST", path: "/deliveries/cancel", body, repeatable: false }, options);
  }

  /**
   * Show the reasons why a delivery waits. Lists every reason why the delivery is not sent now, and
   * until when, if that is known. Also shows the delivery's lane and its position there.
   */
  explain(deliveryId: string, options?: CallOptions): Promise<DeliveryExplanation> {
    return this.call({ method: "GET", path: this.at("deliveries", deliveryId, "explain") }, options);
  }
}

/** Deliveries without attempts left: inspect, retry or discard them. */
export class DlqResource extends Resource {
  /**
   * List the dead-letter queue: one page. Lists deliveries that have no attempts left, or got a 410
   * from their receiver. The latest dead letter comes first. A search for rare values stops after a
   * limited time. A page can then hold fewer than `limit` dead letters, even none, and still have a
   * `nextCursor`. Such a page has `searchedTo`: the search has examined all dead letters after this
   * time.
   */
  list(query: { limit?: number; from?: string | Date; to?: string | Date; destinationId?: string | string[]; eventType?: string | string[]; errorCategory?: ErrorCategory | ErrorCategory[]; signature?: string | string[]; replayJobId?: string | string[] } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DlqEntry>> {
    return this.call({ method: "GET", path: "/dlq", query }, options);
  }

  /**
   * List the dead-letter queue: all pages. Lists deliveries that have no attempts left, or got a
   * 410 from their receiver. The latest dead letter comes first. A search for rare values stops
   * after a limited time. A page can then hold fewer than `limit` dead letters, even none, and
   * still have a `nextCursor`. Such a page has `searchedTo`: the search has examined all dead
   * letters after this time.
   */
  iterate(query: { limit?: number; from?: string | Date; to?: string | Date; destinationId?: string | string[]; eventType?: string | string[]; errorCategory?: ErrorCategory | ErrorCategory[]; signature?: string | string[]; replayJobId?: string | string[] } = {}, options?: CallOptions): AsyncIterable<DlqEntry> {
    return this.pages("/dlq", query, options);
  }

  /**
   * Group the dead-letter queue by cause: one page. The entries of a group have the same
   * destination, error category, response status, and error text apart from numbers. The largest
   * group comes first. The server examines the latest 20,000 entries: if there are more, `atLeast`
   * is true, and `searchedTo` is the time of the earliest examined entry. Give a group's
   * `signature` to the retry or discard in bulk.
   */
  groupsPage(query: { limit?: number; from?: string | Date; to?: string | Date; destinationId?: string | string[]; eventType?: string | string[]; errorCategory?: ErrorCategory | ErrorCategory[]; signature?: string | string[]; replayJobId?: string | string[] } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<DlqGroup>> {
    return this.call({ method: "GET", path: "/dlq/groups", query }, options);
  }

  /**
   * Group the dead-letter queue by cause: all pages. The entries of a group have the same
   * destination, error category, response status, and error text apart from numbers. The largest
   * group comes first. The server examines the latest 20,000 entries: if there are more, `atLeast`
   * is true, and `searchedTo` is the time of the earliest examined entry. Give a group's
   * `signature` to the retry or discard in bulk.
   */
  groups(query: { limit?: number; from?: string | Date; to?: string | Date; destinationId?: string | string[]; eventType?: string | string[]; errorCategory?: ErrorCategory | ErrorCategory[]; signature?: string | string[]; replayJobId?: string | string[] } = {}, options?: CallOptions): AsyncIterable<DlqGroup> {
    return this.pages("/dlq/groups", query, options);
  }

  /**
   * Show an entry of the dead-letter queue. The answer is null if the delivery exists and is not in
   * the queue.
   */
  get(deliveryId: string, options?: CallOptions): Promise<DlqEntryOrNull> {
    return this.call({ method: "GET", path: this.at("dlq", deliveryId) }, options);
  }

  /**
   * Retry an entry of the dead-letter queue. The delivery becomes PENDING again, with a new
   * schedule and the `dlqStatus` RETRIED_FROM_DLQ. Its attempt numbers continue, and it becomes the
   * last of its lane. It waits while its destination is DISABLED. 409 if retention has removed its
   * event.
   */
  retry(deliveryId: string, options?: CallOptions): Promise<Requeued> {
    return this.call({ method: "POST", path: this.at("dlq", deliveryId, "retry"), body: {}, repeatable: false }, options);
  }

  /**
   * Retry entries of the dead-letter queue in bulk. At least one filter is needed. The oldest go
   * first. One request retries up to 10,000 deliveries and takes at most some seconds. `remaining`
   * counts the rest: repeat the same request to retry them. No delivery is retried twice. With
   * `dryRun` the request only counts.
   */
  retryAll(body: DlqSelection, options?: CallOptions): Promise<BulkRetry> {
    return this.call({ method: "POST", path: "/dlq/retry", body }, options);
  }

  /**
   * Discard entries of the dead-letter queue in bulk. The deliveries become FAILED and DISCARDED.
   * They stay listed, and only a replay job can send them again. Selection and limits are the same
   * as for the retry in bulk.
   */
  discardAll(body: DlqSelection, options?: CallOptions): Promise<BulkDiscard> {
    return this.call({ method: "POST", path: "/dlq/discard", body }, options);
  }
}

/** Jobs that send selected past deliveries again. Live traffic goes first. */
export class ReplayJobsResource extends Resource {
  /**
   * Replay deliveries. Creates new deliveries for deliveries that were delivered, failed or were
   * dry runs. A new delivery has the same `webhook-id` and a new `angarium-delivery-id`. Its body
   * is the same unless the transform version or the template config has changed. Live deliveries go
   * first. A receiver that remembers the `webhook-id` drops the new delivery as a duplicate. The
   * job selects deliveries that were settled when it was created. It selects replays only by
   * `deliveryIds`, and test deliveries never. At least one of `destinationId`, `customerAccountId`,
   * `deliveryIds` and `from` is needed. The mode MISSING instead sends events for which the
   * destination has no delivery. With `dryRun` nothing is sent: the job is COMPLETED once `total`
   * is counted, mostly already in this answer. `types` then counts by event type, and `samples`
   * shows up to three requests.
   */
  create(body: ReplayDraft, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "POST", path: "/replay-jobs", body, repeatable: false }, options);
  }

  /** List replay jobs: one page. Jobs of the kinds REPLAY, CANCEL and RETRY, newest first. */
  list(query: { limit?: number; status?: ReplayStatus | ReplayStatus[]; kind?: "REPLAY" | "CANCEL" | "RETRY" | ("REPLAY" | "CANCEL" | "RETRY")[]; customerAccountId?: string } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<ReplayJob>> {
    return this.call({ method: "GET", path: "/replay-jobs", query }, options);
  }

  /** List replay jobs: all pages. Jobs of the kinds REPLAY, CANCEL and RETRY, newest first. */
  iterate(query: { limit?: number; status?: ReplayStatus | ReplayStatus[]; kind?: "REPLAY" | "CANCEL" | "RETRY" | ("REPLAY" | "CANCEL" | "RETRY")[]; customerAccountId?: string } = {}, options?: CallOptions): AsyncIterable<ReplayJob> {
    return this.pages("/replay-jobs", query, options);
  }

  /** Show a replay job. */
  get(jobId: string, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "GET", path: this.at("replay-jobs", jobId) }, options);
  }

  /**
   * Change the rate of a replay job. A merge patch (RFC 7396). The new rate applies within a
   * second, whichever machine runs the job. Null removes the limit. Deliveries that are already
   * enqueued stay enqueued. 409 if the job has ended, or is of the kind CANCEL or RETRY.
   */
  update(jobId: string, body: ReplayPatch, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "PATCH", path: this.at("replay-jobs", jobId), body }, options);
  }

  /** Show the progress of a replay job. */
  progress(jobId: string, options?: CallOptions): Promise<ReplayProgress> {
    return this.call({ method: "GET", path: this.at("replay-jobs", jobId, "progress") }, options);
  }

  /**
   * Cancel a replay job. After the answer the job enqueues nothing more. Its enqueued deliveries
   * without an attempt are cancelled within a second: they become FAILED and DISCARDED, and count
   * as failed. An attempt in flight continues, with its retries. A job of the kind CANCEL or RETRY
   * leaves the remaining deliveries unchanged. 400 if the job has ended.
   */
  cancel(jobId: string, options?: CallOptions): Promise<ReplayJobDetail> {
    return this.call({ method: "POST", path: this.at("replay-jobs", jobId, "cancel"), body: {}, repeatable: false }, options);
  }
}

/** API keys and MCP keys: create, list, rotate and revoke them. */
export class ApiKeysResource extends Resource {
  /**
   * Create a key. Only this answer has the secret. An API key creates keys of its own environment.
   * An MCP key of scope `manage` creates keys of any environment, and MCP keys. An environment has
   * at most 1,000 keys.
   */
  create(body: KeyDraft, options?: CallOptions): Promise<ApiKeyWithSecret> {
    return this.call({ method: "POST", path: "/api-keys", body, repeatable: false }, options);
  }

  /**
   * List keys: one page. Lists the keys of the environment that are not revoked. An MCP key of
   * scope `manage` also sees the workspace's MCP keys.
   */
  list(query: { limit?: number; environment?: Environment } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<ApiKey>> {
    return this.call({ method: "GET", path: "/api-keys", query }, options);
  }

  /**
   * List keys: all pages. Lists the keys of the environment that are not revoked. An MCP key of
   * scope `manage` also sees the workspace's MCP keys.
   */
  iterate(query: { limit?: number; environment?: Environment } = {}, options?: CallOptions): AsyncIterable<ApiKey> {
    return this.pages("/api-keys", query, options);
  }

  /**
   * Give a key a new secret. Only this answer has the new secret. Each former secret stays valid
   * for 24 hours after its rotation; 409 after nine rotations within a day. A former secret cannot
   * create, rotate or revoke keys: 403.
   */
  rotate(keyId: string, options?: CallOptions): Promise<ApiKeyWithSecret> {
    return this.call({ method: "POST", path: this.at("api-keys", keyId, "rotate"), body: {}, repeatable: false }, options);
  }

  /**
   * Revoke a key. All secrets of the key end at once; in other processes within a second. A key can
   * revoke itself.
   */
  revoke(keyId: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "DELETE", path: this.at("api-keys", keyId), goneIsDone: true }, options);
  }
}

/** The settings for all environments: the look of customers' portals, and permissions. */
export class WorkspaceResource extends Resource {
  /**
   * Show the workspace. Shows the name, the plan, and the settings of customers' portals. An MCP
   * key does not have to name an environment.
   */
  get(options?: CallOptions): Promise<Workspace> {
    return this.call({ method: "GET", path: "/workspace" }, options);
  }

  /**
   * Change the workspace's settings. A merge patch (RFC 7396): null puts a field back to its
   * default, and a list replaces the whole list. The settings apply in all environments and to open
   * sessions, at once in this process and within a second in others. Origins are stored as browsers
   * write them: in lower case, without the scheme's default port.
   */
  update(body: SettingsPatch, options?: CallOptions): Promise<Workspace> {
    return this.call({ method: "PATCH", path: "/workspace", body }, options);
  }
}

/** Short-lived sessions for an end-customer's browser, and the data of its portal. */
export class EmbedSessionsResource extends Resource {
  /**
   * Open an embed session. The token is a credential for one end-customer's browser. It sees and
   * changes only objects of that customer's account in this environment. The account has its own
   * quotas of destinations, rules, scripts and requests a minute. `url` has the token in its
   * fragment, which browsers do not send to servers.
   */
  create(body: SessionDraft, options?: CallOptions): Promise<EmbedSession> {
    return this.call({ method: "POST", path: "/embed/sessions", body }, options);
  }

  /**
   * Show the data of a portal. Shows the session's customer and expiry, the workspace's branding,
   * and the session's permissions and limits.
   */
  context(options?: CallOptions): Promise<EmbedContext> {
    return this.call({ method: "GET", path: "/embed/context" }, options);
  }
}

/** The accounts of customers: their quotas, permissions and objects. */
export class CustomersResource extends Resource {
  /** List customers: one page. Sorted by the bytes of `customerExternalId`. */
  list(query: { limit?: number; prefix?: string } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<CustomerItem>> {
    return this.call({ method: "GET", path: "/customers", query }, options);
  }

  /** List customers: all pages. Sorted by the bytes of `customerExternalId`. */
  iterate(query: { limit?: number; prefix?: string } = {}, options?: CallOptions): AsyncIterable<CustomerItem> {
    return this.pages("/customers", query, options);
  }

  /**
   * Show a customer. Shows the account: the quotas that the workspace has set, the limits of the
   * customer's embed sessions, and the numbers of its objects. An account exists once an event, a
   * destination or a session has named the customer.
   */
  get(externalId: string, options?: CallOptions): Promise<Customer> {
    return this.call({ method: "GET", path: this.at("customers", externalId) }, options);
  }

  /**
   * Set a customer's name, quotas and permissions. The request replaces all earlier values. Quotas
   * and permissions limit the customer's embed sessions, at once in this process and within a
   * second in others. The workspace's keys are limited only by the plan.
   */
  put(externalId: string, body: CustomerDraft, options?: CallOptions): Promise<Customer> {
    return this.call({ method: "PUT", path: this.at("customers", externalId), body }, options);
  }

  /**
   * Erase a customer's contents. Archives the customer's destinations, with their rules. Erases the
   * contents of all events accepted for the customer so far: payloads, metadata, files, receivers'
   * answers and script output, as `DELETE /events/{id}/payload` does. The erasure continues after
   * the answer, and after a restart of the server, until `erasure.finishedAt` is set. The account,
   * the events, the deliveries and the counters stay.
   */
  erase(externalId: string, options?: CallOptions): Promise<Customer> {
    return this.call({ method: "DELETE", path: this.at("customers", externalId) }, options);
  }
}

/** The present state of destinations and environments, and their counters. */
export class ObservabilityResource extends Resource {
  /**
   * Show an environment's counters over a period. Sums of all destinations, including archived
   * ones, in the form of a destination's analytics. `topDestinations` are the ten with the most
   * attempts.
   */
  analytics(query: { period?: AnalyticsPeriod; granularity?: AnalyticsGranularity; environment?: Environment; customerAccountId?: string } = {}, options?: CallOptions): Promise<EnvironmentAnalytics> {
    return this.call({ method: "GET", path: "/observability/analytics", query }, options);
  }

  /**
   * Count an environment's waiting deliveries and dead letters. `pending` and `inFlight` come from
   * memory and are at most a second old. `retrying` and `inDlq` are counted in the stored
   * deliveries, up to 10,000 each. If one of them is 10,000, `atLeast` is true.
   */
  counts(query: { environment?: Environment } = {}, options?: CallOptions): Promise<Counts> {
    return this.call({ method: "GET", path: "/observability/counts", query }, options);
  }

  /**
   * Find by id, key or name. Finds the objects with the id `q`; events with the idempotency key or
   * the correlationId `q`; destinations with `q` in their name; customers whose customerExternalId
   * begins with `q`; and event types that begin with `q`, among the 2,000 latest events. The first
   * 8 or more characters of an id find destinations, events and deliveries. They tell the time of
   * creation: the server compares the 200 latest events and deliveries of that time. The list is
   * empty if nothing is found.
   */
  lookup(query: { q: string; environment?: Environment }, options?: CallOptions): Promise<Findings> {
    return this.call({ method: "GET", path: "/lookup", query }, options);
  }
}

/** The changes of the configuration: who made them, and the earlier values. */
export class AuditLogsResource extends Resource {
  /**
   * List changes of configuration: one page. Newest first. MCP keys also see changes of the whole
   * workspace, such as its plan and its MCP keys. A change and its entry are written together, and
   * entries are never removed. A search for rare values stops after a limited time. A page can then
   * hold fewer than `limit` entries, even none, and still have a `nextCursor`. Such a page has
   * `searchedTo`: the search has examined all entries after this time.
   */
  list(query: { limit?: number; action?: string | string[]; objectType?: string | string[]; objectId?: string | string[]; actorId?: string | string[]; from?: string | Date; to?: string | Date } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<AuditEntry>> {
    return this.call({ method: "GET", path: "/audit-logs", query }, options);
  }

  /**
   * List changes of configuration: all pages. Newest first. MCP keys also see changes of the whole
   * workspace, such as its plan and its MCP keys. A change and its entry are written together, and
   * entries are never removed. A search for rare values stops after a limited time. A page can then
   * hold fewer than `limit` entries, even none, and still have a `nextCursor`. Such a page has
   * `searchedTo`: the search has examined all entries after this time.
   */
  iterate(query: { limit?: number; action?: string | string[]; objectType?: string | string[]; objectId?: string | string[]; actorId?: string | string[]; from?: string | Date; to?: string | Date } = {}, options?: CallOptions): AsyncIterable<AuditEntry> {
    return this.pages("/audit-logs", query, options);
  }

  /** Show a change of configuration. */
  get(entryId: string, options?: CallOptions): Promise<AuditEntry> {
    return this.call({ method: "GET", path: this.at("audit-logs", entryId) }, options);
  }
}

/** The present state of destinations and environments, and their counters. */
export class NodesResource extends Resource {
  /**
   * List the servers of this installation: one page. Sorted by name. The list shows what the
   * answering server knows. The call needs a key of scope `manage` of the installation's first
   * workspace. Each part of the workspaces has one ACTIVE server, which does the work of the part.
   * A STANDBY of the part takes over if the ACTIVE server fails.
   */
  list(query: { limit?: number } & { cursor?: string } = {}, options?: CallOptions): Promise<Page<Node>> {
    return this.call({ method: "GET", path: "/observability/nodes", query }, options);
  }

  /**
   * List the servers of this installation: all pages. Sorted by name. The list shows what the
   * answering server knows. The call needs a key of scope `manage` of the installation's first
   * workspace. Each part of the workspaces has one ACTIVE server, which does the work of the part.
   * A STANDBY of the part takes over if the ACTIVE server fails.
   */
  iterate(query: { limit?: number } = {}, options?: CallOptions): AsyncIterable<Node> {
    return this.pages("/observability/nodes", query, options);
  }

  /**
   * Drain a machine. Other machines take the parts of this machine over within seconds. The machine
   * gets no parts until the drain ends, also after a restart. It still relays its clients'
   * requests, and keeps its parts while no other machine can take them.
   */
  drain(machine: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "POST", path: this.at("observability", "nodes", machine, "drain"), body: {} }, options);
  }

  /** End the drain of a machine. The machine gets its share of the parts within seconds. */
  undrain(machine: string, options?: CallOptions): Promise<Success> {
    return this.call({ method: "POST", path: this.at("observability", "nodes", machine, "undrain"), body: {} }, options);
  }
}
