// Made of the API's routes by `python -m api.generation`; do not edit.
/** The API's shapes. */

/** The destination's actor. */
export interface ActorState {
  state: string;
  restarts: number;
  mailbox: number;
  startedAt: string | null;
  snapshotAt: string | null;
}

/** A destination's counters over a period. */
export interface Analytics {
  /** The beginning of the first point, inclusive. */
  from: string;
  period: AnalyticsPeriod;
  granularity: AnalyticsGranularity;
  /** The end of the last point, exclusive. It can be in the future. */
  to: string;
  totals: AnalyticsTotals;
  /** One point for each minute, hour or day (UTC), oldest first, also for times without events. */
  series: AnalyticsPoint[];
  /** Failed attempts, by error category. Categories without failures are missing. */
  errorCategories: Record<string, number>;
  destinationId: string;
}

/** The time that each point covers. */
export type AnalyticsGranularity = "minute" | "hour" | "day";

/** The period, which ends now. */
export type AnalyticsPeriod = "1h" | "6h" | "24h" | "7d" | "30d";

/** The counters from `at` until the next point. */
export interface AnalyticsPoint {
  /** Attempts, by the minute in which they ended. */
  attempts: number;
  /** Deliveries that succeeded. */
  delivered: number;
  /** Attempts that failed. */
  failed: number;
  /** Attempts after the first of a delivery. */
  retried: number;
  /** Deliveries, by the minute in which they first became dead letters. */
  deadLettered: number;
  latencyMs: Latency;
  at: string;
}

/** The totals of the whole period. */
export interface AnalyticsTotals {
  /** Attempts, by the minute in which they ended. */
  attempts: number;
  /** Deliveries that succeeded. */
  delivered: number;
  /** Attempts that failed. */
  failed: number;
  /** Attempts after the first of a delivery. */
  retried: number;
  /** Deliveries, by the minute in which they first became dead letters. */
  deadLettered: number;
  latencyMs: Latency;
}

/** A destination with a URL, or one made from a template. The second form has `templateId`. */
export type AnyDestinationDraft = DestinationDraft | TemplateDestinationDraft;

/** A key, without its secret. */
export interface ApiKey {
  id: string;
  kind: KeyKind;
  name: string;
  scope: Scope;
  /** Null for an MCP key. */
  environment: Environment | null;
  prefix: string;
  lastFour: string;
  /** Identifies the present secret in the audit log. */
  fingerprint: string;
  createdAt: string;
  /** The last use. Uses in other processes appear up to a minute late. */
  lastUsedAt: string | null;
  /** The time when the present secret expires. Null: never. */
  expiresAt: string | null;
}

/** A page of a list, newest first. */
export interface ApiKeyPage {
  items: ApiKey[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A key with its secret, shown only in this answer. */
export interface ApiKeyWithSecret {
  id: string;
  kind: KeyKind;
  name: string;
  scope: Scope;
  /** Null for an MCP key. */
  environment: Environment | null;
  prefix: string;
  lastFour: string;
  /** Identifies the present secret in the audit log. */
  fingerprint: string;
  createdAt: string;
  /** The last use. Uses in other processes appear up to a minute late. */
  lastUsedAt: string | null;
  /** The time when the present secret expires. Null: never. */
  expiresAt: string | null;
  secret: string;
}

/** An attachment of an event. */
export interface Attachment {
  source: Source;
  fileType?: string | null;
  contentType?: string | null;
  sizeBytes?: number | null;
  fileName?: string | null;
  metadata?: Record<string, unknown> | null;
}

/** One recorded attempt. */
export interface Attempt {
  number: number;
  startedAt: string;
  durationMs: number;
  success: boolean;
  responseStatus: number | null;
  responseHeaders: Record<string, string>;
  /** Null in an embed session without the permission `viewPayloads`. */
  responseBody: string | null;
  responseTruncated: boolean;
  errorCategory: ErrorCategory | null;
  /** Null in an embed session without the permission `viewPayloads`. */
  errorMessage: string | null;
  /** The version of the transform script that ran. */
  transformVersion: number | null;
  /** The output of the transform script, at most 4 KiB. */
  logs: string | null;
}

/** A page of a list, newest first. */
export interface AttemptPage {
  items: Attempt[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A field before and after a change. Null: the field was or is absent. Secrets are `***`. */
export interface AuditChange {
  from: unknown;
  to: unknown;
}

/** One change of configuration. */
export interface AuditEntry {
  id: string;
  createdAt: string;
  /** The action, such as `destination.update`. */
  action: string;
  objectType: string;
  objectId: string;
  actorType: "API_KEY" | "MCP_KEY" | "EMBED_SESSION" | "CONSOLE" | "CLI" | "SYSTEM";
  actorId: string;
  /** Null for changes of the whole workspace. */
  environment: Environment | null;
  requestId: string | null;
  changes: Record<string, AuditChange> | null;
  /** The fingerprint of the secret that this rotation or revocation ended. */
  previousFingerprint: string | null;
}

/** A page of a list, newest first. */
export interface AuditEntryPage {
  items: AuditEntry[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The caller. Fields that do not apply are null. */
export interface AuthContext {
  kind: "API_KEY" | "MCP_KEY" | "EMBED_SESSION" | "CONSOLE";
  workspaceId: string;
  workspaceName: string;
  environment: Environment | null;
  scope: Scope | null;
  keyId: string | null;
  customerAccountId: string | null;
  customerExternalId: string | null;
  plan: string;
  expiresAt: string | null;
  /** The page that the portal links to as the way back; https only. */
  returnUrl: string | null;
  branding: Branding;
  /** The abilities that the workspace allows and its plan includes. Null for a key. */
  permissions: CustomerMay | null;
}

/** A user name and a password, sent with every request. */
export interface BasicAuthentication {
  kind: "BASIC";
  username: string;
  password: string;
}

/** The result for one event of a batch. */
export interface BatchEntry {
  index: number;
  status: "ACCEPTED" | "DUPLICATE" | "REJECTED";
  id: string | null;
  deliveries: number | null;
  error: Rejection | null;
}

/** Up to 1,000 events, at most 5 MiB. */
export interface BatchInput {
  events: EventInput[];
}

/** The results of a batch. */
export interface BatchResult {
  accepted: number;
  duplicates: number;
  rejected: number;
  results: BatchEntry[];
}

/** A fixed token, sent with every request. */
export interface BearerAuthentication {
  kind: "BEARER";
  token: string;
}

/** Colours as #rrggbb. Null: the portal uses its own colour. */
export interface BrandColors {
  primary: string | null;
  accent: string | null;
  background: string | null;
  text: string | null;
}

/** Colours as #rrggbb. Null: the portal uses its own colour. */
export interface BrandColorsPatch {
  primary?: string | null;
  accent?: string | null;
  background?: string | null;
  text?: string | null;
}

/** The look of a portal. Null: the portal uses its own default. */
export interface Branding {
  name: string | null;
  /** The address of the logo; https only. */
  logoUrl: string | null;
  colors: BrandColors;
  /** BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`. */
  locale: string | null;
  /** A page where customers find help; https only. */
  supportUrl: string | null;
}

/** The look of a portal. Null: the portal uses its own default. */
export interface BrandingPatch {
  name?: string | null;
  /** The address of the logo; https only. */
  logoUrl?: string | null;
  colors?: BrandColorsPatch | null;
  /** BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`. */
  locale?: string | null;
  /** A page where customers find help; https only. */
  supportUrl?: string | null;
}

/** The result of a discard in bulk. */
export interface BulkDiscard {
  /** Deliveries in the queue that match the filter. */
  matched: number;
  /**
   * Deliveries that remain for the next request. The count stops after 10 seconds: a number in the
   * millions can be too low.
   */
  remaining: number;
  dryRun: boolean;
  discarded: number;
}

/** The result of a retry in bulk. */
export interface BulkRetry {
  /** Deliveries in the queue that match the filter. */
  matched: number;
  /**
   * Deliveries that remain for the next request. The count stops after 10 seconds: a number in the
   * millions can be too low.
   */
  remaining: number;
  dryRun: boolean;
  /**
   * Retried deliveries. Others that matched and do not remain have left the queue meanwhile, or
   * their event was removed.
   */
  retried: number;
}

/** The state of the destination's circuit. */
export interface Circuit {
  state: "CLOSED" | "OPEN" | "HALF_OPEN";
  openedAt: string | null;
  nextProbeAt: string | null;
}

/** Tokens from a token endpoint, fetched when needed and renewed before they expire. */
export interface ClientCredentialsAuthentication {
  kind: "OAUTH2_CLIENT_CREDENTIALS";
  /** http or https. The server checks its address like a destination's. */
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  /** Scopes, separated by spaces. */
  scope?: string | null;
  /** The audience of the token, for issuers that require it, such as Auth0. */
  audience?: string | null;
  /** The place of id and secret in token requests: a Basic header, or the form. */
  clientAuthentication?: "HEADER" | "BODY";
}

/** A path at which the schema allows many values, because the sampled events differ there. */
export interface Conflict {
  path: string;
  message: string;
}

/** The present numbers of an environment. */
export interface Counts {
  at: string;
  /** Waiting deliveries, including RETRYING ones. */
  pending: number;
  /** Deliveries that are being sent or recorded. */
  inFlight: number;
  /** Deliveries that wait for their next attempt. */
  retrying: number;
  /** Deliveries in the dead-letter queue. */
  inDlq: number;
  /** True if `retrying` or `inDlq` can be higher than counted. */
  atLeast: boolean;
  /** Destinations whose circuit is not CLOSED. */
  openCircuits: number;
  /** Destinations that are DISABLED. */
  disabled: number;
}

/** A customer's account. */
export interface Customer {
  customerExternalId: string;
  customerAccountId: string;
  name: string | null;
  quotas: QuotasDraft;
  /** The time when an object first named the customer. */
  createdAt: string;
  permissions: PermissionsDraft;
  /** Null if no erasure was requested. */
  erasure: CustomerErasure | null;
  limits: CustomerLimits;
  used: CustomerUse;
}

/**
 * The name, quotas and permissions of a customer's account. A PUT replaces all of them: a missing
 * field gets its default.
 */
export interface CustomerDraft {
  /** A name for people. Null: the customerExternalId is shown. */
  name?: string | null;
  quotas?: QuotasDraft | null;
  permissions?: PermissionsDraft | null;
}

/** The last request to erase a customer's contents. */
export interface CustomerErasure {
  requestedAt: string;
  /** Null while the erasure runs. */
  finishedAt: string | null;
  /** The number of events erased so far. */
  events: number;
}

/** A customer's account in a list. */
export interface CustomerItem {
  customerExternalId: string;
  customerAccountId: string;
  name: string | null;
  quotas: QuotasDraft;
  /** The time when an object first named the customer. */
  createdAt: string;
}

/** The limits of a customer's embed sessions. */
export interface CustomerLimits {
  destinations: number;
  rules: number;
  transforms: number;
  requestsPerMinute: number;
}

/** The abilities of embed sessions within their customer's account. The default of each is true. */
export interface CustomerMay {
  /** Create destinations. */
  createDestinations: boolean;
  /** Change a destination's name, description, URL and config. */
  editDestinations: boolean;
  /** Enable, disable and resume destinations. */
  switchDestinations: boolean;
  /** Archive destinations. */
  archiveDestinations: boolean;
  /** Send a sample to a destination. */
  testDestinations: boolean;
  /** Set a destination's headers and authentication. */
  editHeaders: boolean;
  /** Set a destination's `delivery`, `method` and `disableAfterSeconds`. */
  editDeliveryOptions: boolean;
  /** Rotate signing secrets, and change the algorithm. */
  rotateSecrets: boolean;
  /** Create, change, enable, disable and delete routing rules. */
  manageRules: boolean;
  /** Create, run, publish, unpublish and delete transform scripts. */
  manageTransforms: boolean;
  /** Retry dead letters and waiting deliveries. */
  retryDeliveries: boolean;
  /** Discard dead letters, and cancel waiting deliveries. */
  discardDeliveries: boolean;
  /** Start, change and cancel replay jobs. */
  replay: boolean;
  /**
   * See the contents of events, requests, responses and files, script output, and error texts.
   * Without this ability they are null.
   */
  viewPayloads: boolean;
}

/** The abilities of embed sessions within their customer's account. The default of each is true. */
export interface CustomerMayPatch {
  /** Create destinations. */
  createDestinations?: boolean | null;
  /** Change a destination's name, description, URL and config. */
  editDestinations?: boolean | null;
  /** Enable, disable and resume destinations. */
  switchDestinations?: boolean | null;
  /** Archive destinations. */
  archiveDestinations?: boolean | null;
  /** Send a sample to a destination. */
  testDestinations?: boolean | null;
  /** Set a destination's headers and authentication. */
  editHeaders?: boolean | null;
  /** Set a destination's `delivery`, `method` and `disableAfterSeconds`. */
  editDeliveryOptions?: boolean | null;
  /** Rotate signing secrets, and change the algorithm. */
  rotateSecrets?: boolean | null;
  /** Create, change, enable, disable and delete routing rules. */
  manageRules?: boolean | null;
  /** Create, run, publish, unpublish and delete transform scripts. */
  manageTransforms?: boolean | null;
  /** Retry dead letters and waiting deliveries. */
  retryDeliveries?: boolean | null;
  /** Discard dead letters, and cancel waiting deliveries. */
  discardDeliveries?: boolean | null;
  /** Start, change and cancel replay jobs. */
  replay?: boolean | null;
  /**
   * See the contents of events, requests, responses and files, script output, and error texts.
   * Without this ability they are null.
   */
  viewPayloads?: boolean | null;
}

/** A page of a list, newest first. */
export interface CustomerPage {
  items: CustomerItem[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The numbers of a customer's objects, whoever created them. */
export interface CustomerUse {
  /** Destinations, without archived ones. */
  destinations: number;
  rules: number;
  transforms: number;
}

/** A delivery with its attempts, its event and the last request sent. */
export interface Delivery {
  id: string;
  eventId: string;
  eventType: string;
  destinationId: string;
  environment: Environment;
  status: DeliveryStatus;
  kind: DeliveryKind;
  priority: Priority;
  originKind: OriginKind;
  isReplay: boolean;
  /** True if the transform script returned null: nothing was sent. */
  skipped: boolean;
  attemptCount: number;
  errorCategory: ErrorCategory | null;
  responseStatus: number | null;
  dlqStatus: DlqStatus | null;
  createdAt: string;
  updatedAt: string;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
  /** Null if retention has removed it. */
  event: Event | null;
  /** Null before the first request is sent. */
  request: SentRequest | null;
  /**
   * The error of the last attempt; `cancelled` for a cancelled delivery. Null in an embed session
   * without the permission `viewPayloads`.
   */
  lastError: string | null;
  replayOf: string | null;
  replayJobId: string | null;
  /** The newest attempts, in the order of their numbers. */
  attempts: Attempt[];
  /** The cursor of the earlier attempts. Null: these are all. */
  attemptsCursor: string | null;
}

/** The reasons why a delivery waits. */
export interface DeliveryExplanation {
  deliveryId: string;
  status: DeliveryStatus;
  /** Every reason. Empty: the delivery is in flight, has ended, or is next. */
  waits: DeliveryWait[];
  /** Null if its destination has no lanes. */
  lane: DeliveryLane | null;
  /**
   * The number of waiting deliveries before it in its lane; without a lane, in its priority class.
   * Null if it does not wait, waits only for its schedule, or has more than 5,000 before it.
   */
  position: number | null;
}

/** A delivery in a list. */
export interface DeliveryItem {
  id: string;
  eventId: string;
  eventType: string;
  destinationId: string;
  environment: Environment;
  status: DeliveryStatus;
  kind: DeliveryKind;
  priority: Priority;
  originKind: OriginKind;
  isReplay: boolean;
  /** True if the transform script returned null: nothing was sent. */
  skipped: boolean;
  attemptCount: number;
  errorCategory: ErrorCategory | null;
  responseStatus: number | null;
  dlqStatus: DlqStatus | null;
  createdAt: string;
  updatedAt: string;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
}

/** The kind of content in a delivery. */
export type DeliveryKind = "EVENT" | "FILE";

/** The lane of a delivery. */
export interface DeliveryLane {
  key: string | null;
  kind: "CUSTOMER" | "CORRELATION" | "SOURCE" | "DESTINATION";
}

/** The sending options of a destination. */
export interface DeliveryOptions {
  /**
   * Requests in flight at once. `auto`: the server adapts the number to the durations and failures
   * of attempts. By default 8.
   */
  concurrency?: number | "auto";
  /** Scope of first-in first-out order: none, a key of the event, or the destination. */
  ordering?: Ordering;
  /** The most time for an attempt, from the name look-up to the last byte. */
  timeoutMs?: number;
  /** Attempts per second, with a burst of one second. Null: no limit. */
  rateLimitPerSecond?: number | null;
  /** Route and record events, but send nothing. */
  dryRun?: boolean;
  /** Seconds to wait after each failed attempt, varied by up to 20 %. Empty: no retries. */
  retrySchedule?: number[];
}

/** The sending options of a destination. */
export interface DeliveryOptionsPatch {
  /**
   * Requests in flight at once. `auto`: the server adapts the number to the durations and failures
   * of attempts.
   */
  concurrency?: number | "auto" | null;
  /** Scope of first-in first-out order: none, a key of the event, or the destination. */
  ordering?: Ordering | null;
  /** The most time for an attempt, from the name look-up to the last byte. */
  timeoutMs?: number | null;
  /** Attempts per second, with a burst of one second. Null: no limit. */
  rateLimitPerSecond?: number | null;
  /** Route and record events, but send nothing. */
  dryRun?: boolean | null;
  /** Seconds to wait after each failed attempt, varied by up to 20 %. Empty: no retries. */
  retrySchedule?: number[] | null;
}

/** A page of a list, newest first. */
export interface DeliveryPage {
  items: DeliveryItem[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The state of a delivery. */
export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED" | "RETRYING" | "DRY_RUN";

/** One reason why a delivery is not sent. */
export interface DeliveryWait {
  gate: "DISABLED" | "LANE" | "SCHEDULE" | "RETRY_AFTER" | "CIRCUIT" | "RATE" | "CONCURRENCY" | "QUEUE" | "STORE";
  /** Null if it is unknown. */
  until: string | null;
  /** A sentence for people. */
  detail: string;
  /** LANE: the delivery that must end first. */
  blockedBy: string | null;
}

/** A destination. */
export interface Destination {
  id: string;
  environment: Environment;
  /** The template in the catalog. Null: the destination has no template. */
  templateId: string | null;
  name: string;
  /** The template's configuration, with defaults. Secrets are shown as ***. */
  config: Record<string, unknown> | null;
  /** Secrets in the URL are shown as ***. */
  url: string;
  description: string | null;
  customerExternalId: string | null;
  customerAccountId: string | null;
  headers: Record<string, string>;
  delivery: DeliveryOptions;
  signing: Signing;
  method: HttpMethod;
  /** The authentication of requests. Secrets are shown as ***. */
  authentication: BasicAuthentication | BearerAuthentication | ClientCredentialsAuthentication | MutualTlsAuthentication | null;
  /** The destination is disabled after it has failed for this many seconds. Null: never. */
  disableAfterSeconds: number | null;
  status: DestinationStatus;
  /** The version of the transform script that is live. */
  transformVersion: number | null;
  createdAt: string;
  updatedAt: string;
}

/** The counters of one destination. */
export interface DestinationCounts {
  attempts: number;
  delivered: number;
  failed: number;
  retried: number;
  deadLettered: number;
  destinationId: string;
}

/** A destination as a caller writes it. */
export interface DestinationDraft {
  name: string;
  /** http or https, without user name and password. */
  url: string;
  description?: string | null;
  /** The end-customer whose events the destination receives. */
  customerExternalId?: string | null;
  /** The id of the same customer's account. */
  customerAccountId?: string | null;
  /**
   * Sent with every request. Names are case-insensitive. Answers show *** for authorization,
   * cookie, and names that contain key, token, secret or the like.
   */
  headers?: Record<string, string> | null;
  delivery?: DeliveryOptions | null;
  signing?: SigningOptions | null;
  method?: HttpMethod | null;
  /** Authentication of requests to receivers. Answers show secrets as ***. */
  authentication?: BasicAuthentication | BearerAuthentication | ClientCredentialsAuthentication | MutualTlsAuthentication | null;
  /** Disable the destination after it has failed for this many seconds. Null: never. */
  disableAfterSeconds?: number | null;
  /**
   * A signing secret of 24 to 64 bytes that receivers already know. Null: the server makes a new
   * one.
   */
  secret?: string | null;
}

/** The present health of a destination. */
export interface DestinationHealth {
  destinationId: string;
  state: "HEALTHY" | "DEGRADED" | "FAILING" | "IDLE" | "DISABLED";
  circuit: Circuit;
  hold: DestinationHold | null;
  /** The share of successful attempts in the last 5 minutes, 0 to 1. */
  successRate: number | null;
  consecutiveFailures: number;
  /**
   * The time of the first failure after the last success. Set while `state` is FAILING, and after
   * ten failures in a row or an hour of waiting without a success. The next success makes it null.
   */
  failingSince: string | null;
  latencyMs: Latency;
  lastSuccessAt: string | null;
  lastFailureAt: string | null;
  /** Null in an embed session without the permission `viewPayloads`. */
  lastError: string | null;
  queue: Queue;
  actor: ActorState;
}

/** The hold on a destination: the reason why its deliveries are not sent. */
export interface DestinationHold {
  /**
   * RETRY_AFTER: the receiver asked for a pause. CIRCUIT: the circuit is open, or a probe is under
   * way. RATE: the rate limit is used up. STORE: outcomes cannot be recorded fast enough.
   */
  reason: "RETRY_AFTER" | "CIRCUIT" | "RATE" | "DISABLED" | "STORE";
  /** Null if it is unknown. */
  until: string | null;
}

/** A page of a list, newest first. */
export interface DestinationPage {
  items: Destination[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A destination as a caller writes it. */
export interface DestinationPatch {
  name?: string;
  /** http or https, without user name and password. */
  url?: string;
  description?: string | null;
  /** The end-customer whose events the destination receives. */
  customerExternalId?: string | null;
  /** The id of the same customer's account. */
  customerAccountId?: string | null;
  /**
   * Sent with every request. Names are case-insensitive. Answers show *** for authorization,
   * cookie, and names that contain key, token, secret or the like.
   */
  headers?: Record<string, string | null> | null;
  delivery?: DeliveryOptionsPatch | null;
  signing?: SigningOptionsPatch | null;
  method?: HttpMethod | null;
  /** Authentication of requests to receivers. Answers show secrets as ***. */
  authentication?: Record<string, unknown> | null;
  /** Disable the destination after it has failed for this many seconds. Null: never. */
  disableAfterSeconds?: number | null;
  rotateSecret?: boolean | null;
  graceSeconds?: number | null;
  templateId?: string | null;
  config?: Record<string, unknown> | null;
}

/** The state of a destination. */
export type DestinationStatus = "ACTIVE" | "DISABLED" | "ARCHIVED";

/** A destination, its health, and its last 24 hours. */
export interface DestinationSummary {
  destination: Destination;
  health: DestinationHealth;
  /** The sums of the 24 hours in `series`. */
  totals: OutcomeCounts;
  /** 24 hours, oldest first; the last hour is not complete. */
  series: HourCounts[];
  /** Deliveries in the dead-letter queue, counted up to 1,000. */
  inDlq: number;
  /** True if `inDlq` can be higher than counted. */
  atLeast: boolean;
}

/** A page of a list, newest first. */
export interface DestinationSummaryPage {
  items: DestinationSummary[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A template for destinations of one service. */
export interface DestinationTemplate {
  /** The `templateId` of destinations. */
  id: string;
  name: string;
  description: string;
  /** The category in the catalog, such as `chat`. */
  category: string;
  /** The name of an icon that clients have. */
  icon: string;
  /** Addresses of the service's own documentation. */
  documentationUrls: string[];
  /**
   * The JSON Schema 2020-12 of `config`, with the fields in the order of a form. `title` and
   * `description` are for people. Answers show fields with `secret` as ***.
   */
  configSchema: Record<string, unknown>;
  /** Defaults for a destination's `delivery`. */
  defaults: Record<string, unknown>;
  example: TemplateExample;
}

/** A page of a list, newest first. */
export interface DestinationTemplatePage {
  items: DestinationTemplate[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A destination with its signing secret, shown only in this answer. */
export interface DestinationWithSecret {
  id: string;
  environment: Environment;
  /** The template in the catalog. Null: the destination has no template. */
  templateId: string | null;
  name: string;
  /** The template's configuration, with defaults. Secrets are shown as ***. */
  config: Record<string, unknown> | null;
  /** Secrets in the URL are shown as ***. */
  url: string;
  description: string | null;
  customerExternalId: string | null;
  customerAccountId: string | null;
  headers: Record<string, string>;
  delivery: DeliveryOptions;
  signing: Signing;
  method: HttpMethod;
  /** The authentication of requests. Secrets are shown as ***. */
  authentication: BasicAuthentication | BearerAuthentication | ClientCredentialsAuthentication | MutualTlsAuthentication | null;
  /** The destination is disabled after it has failed for this many seconds. Null: never. */
  disableAfterSeconds: number | null;
  status: DestinationStatus;
  /** The version of the transform script that is live. */
  transformVersion: number | null;
  createdAt: string;
  updatedAt: string;
  /** Null if there is no new secret to show. */
  secret: string | null;
}

/** A dead letter, and its cause. */
export interface DlqEntry {
  id: string;
  eventId: string;
  eventType: string;
  destinationId: string;
  environment: Environment;
  status: DeliveryStatus;
  kind: DeliveryKind;
  priority: Priority;
  originKind: OriginKind;
  isReplay: boolean;
  /** True if the transform script returned null: nothing was sent. */
  skipped: boolean;
  attemptCount: number;
  errorCategory: ErrorCategory | null;
  responseStatus: number | null;
  dlqStatus: DlqStatus | null;
  createdAt: string;
  updatedAt: string;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
  /** The same as `id`. */
  deliveryId: string;
  deadLetteredAt: string;
  /** Null in an embed session without the permission `viewPayloads`. */
  lastError: string | null;
}

/** The entry; null for a delivery that is not in the dead-letter queue. */
export type DlqEntryOrNull = DlqEntry | null;

/** A page of a list, newest first. */
export interface DlqEntryPage {
  items: DlqEntry[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** Entries of the dead-letter queue with the same cause. */
export interface DlqGroup {
  /** The `signature` for retry and discard in bulk. */
  signature: string;
  destinationId: string;
  errorCategory: ErrorCategory | null;
  responseStatus: number | null;
  /** The error of the latest entry. Null in an embed session without the permission `viewPayloads`. */
  lastError: string | null;
  /** At most ten. */
  eventTypes: string[];
  count: number;
  /** True if `count` can be higher than counted. */
  atLeast: boolean;
  /** The time when the first entry became a dead letter. */
  firstAt: string;
  lastAt: string;
  /** The id of the latest entry. */
  sampleId: string;
}

/** A page of a list, newest first. */
export interface DlqGroupPage {
  items: DlqGroup[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The selected entries: those that match all given filters. */
export interface DlqSelection {
  deliveryIds?: string[] | null;
  /** Dead letters since this instant. */
  from?: string | null;
  /** Dead letters before this instant. */
  to?: string | null;
  destinationId?: string | null;
  eventType?: string | null;
  errorCategory?: ErrorCategory | null;
  /** Deliveries of this group. */
  signature?: string | null;
  /** Deliveries of this replay job. */
  replayJobId?: string | null;
  /** The most deliveries of this request. Null: 10,000. */
  limit?: number | null;
  /** The most deliveries a second. Null: no limit. */
  ratePerSecond?: number | null;
  /** Only count the selected deliveries. */
  dryRun?: boolean;
}

/** The state of a dead delivery. */
export type DlqStatus = "IN_DLQ" | "RETRIED_FROM_DLQ" | "DISCARDED";

/** The data that a portal shows in a session. */
export interface EmbedContext {
  workspaceId: string;
  workspaceName: string;
  environment: Environment;
  customerAccountId: string;
  customerExternalId: string;
  /** The end of the session. Get a new session before it. */
  expiresAt: string;
  branding: Branding;
  /** The locale of the branding; `en` if it has none. */
  locale: string;
  /** The abilities that the workspace allows and its plan includes. */
  permissions: CustomerMay;
  /** The page that the portal links to as the way back; https only. */
  returnUrl: string | null;
  limits: EmbedLimits;
}

/** The limits of the session's customer. */
export interface EmbedLimits {
  /** For all sessions of this customer together. */
  requestsPerMinute: number;
  /** Destinations of this customer, without archived ones. */
  destinations: number;
  /** Routing rules of this customer's destinations. */
  rules: number;
  /** Transform scripts of this customer's destinations; 0: none. */
  transforms: number;
  /** How long events and deliveries are shown. */
  retentionDays: number;
}

/** An embed session. */
export interface EmbedSession {
  /** anges_...: the browser's bearer token. */
  token: string;
  expiresAt: string;
  customerAccountId: string;
  /** The address of the portal, with the token in the fragment. */
  url: string;
}

/** The body of a POST without parameters: an empty object. It can be left out. */
export interface Empty {
}

/** One of a workspace's three environments. */
export type Environment = "DEVELOPMENT" | "STAGING" | "PRODUCTION";

/** The counters of all destinations of an environment over a period. */
export interface EnvironmentAnalytics {
  /** The beginning of the first point, inclusive. */
  from: string;
  period: AnalyticsPeriod;
  granularity: AnalyticsGranularity;
  /** The end of the last point, exclusive. It can be in the future. */
  to: string;
  totals: AnalyticsTotals;
  /** One point for each minute, hour or day (UTC), oldest first, also for times without events. */
  series: AnalyticsPoint[];
  /** Failed attempts, by error category. Categories without failures are missing. */
  errorCategories: Record<string, number>;
  environment: Environment;
  /** The destinations with the most attempts, the busiest first. */
  topDestinations: DestinationCounts[];
}

/** The kind of error of an attempt. */
export type ErrorCategory = "TIMEOUT" | "DNS" | "CONNECTION" | "TLS" | "BLOCKED_ADDRESS" | "PROTOCOL" | "REDIRECT" | "HTTP_4XX" | "HTTP_5XX" | "RATE_LIMITED" | "TRANSFORM" | "DESTINATION_GONE" | "INTERNAL" | "AUTHENTICATION";

/** The kind of refusal. */
export type ErrorCode = "invalid_request" | "schema_violation" | "idempotency_mismatch" | "loop_detected" | "unauthorized" | "plan_limit" | "forbidden" | "not_found" | "method_not_allowed" | "request_timeout" | "conflict" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "rate_limited" | "internal" | "overloaded";

/** One error in the request. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** An event with its payload, metadata and attachments. */
export interface Event {
  id: string;
  environment: Environment;
  eventType: string;
  occurredAt: string;
  receivedAt: string;
  source: string | null;
  customerExternalId: string | null;
  correlationId: string | null;
  requestId: string | null;
  idempotencyKey: string | null;
  deliveries: number;
  origin: "API" | "FILE" | "OWN" | "TEST";
  /** The time when the content was erased. Null: it was not erased. */
  erasedAt: string | null;
  /**
   * The W3C Trace Context that its deliveries continue: the event's own; otherwise the span
   * `accept` if the server traces the request; otherwise the request's. Null: no trace.
   */
  traceparent: string | null;
  /** Null in an embed session without the permission `viewPayloads`. */
  payload: Record<string, unknown> | null;
  metadata: Record<string, unknown> | null;
  attachments: Record<string, unknown>[] | null;
}

/** The destinations that the present rules choose for an event, and its recorded deliveries. */
export interface EventExplanation {
  eventId: string;
  eventType: string;
  customerExternalId: string | null;
  /** True if the type's active schema accepts it. */
  accepted: boolean;
  refusal: PreviewRefusal | null;
  /** The destinations of the event by the present rules. */
  destinations: PreviewDestination[];
  /** The rules for its type: at most 1,000, and 1 MiB. */
  rules: ExplainedRule[];
  /** The number of rules for other types only. */
  otherRules: number;
  /** The number of rules that are not listed. */
  omittedRules: number;
  /** The deliveries made when the event was accepted, at most 1,000. */
  recorded: RecordedDelivery[];
  /** True if there can be more deliveries than `recorded` lists. */
  atLeast: boolean;
}

/** An event of at most 256 KiB. Receivers get the exact bytes of the payload. */
export interface EventInput {
  eventType: string;
  payload: Record<string, unknown>;
  /** By default the time when the server receives the event. */
  occurredAt?: string | null;
  metadata?: Record<string, unknown> | null;
  source?: string | null;
  customerExternalId?: string | null;
  /** A key that is unique in the environment for 24 hours. */
  idempotencyKey?: string | null;
  correlationId?: string | null;
  requestId?: string | null;
  /**
   * The event's own trace (W3C Trace Context); by default the request's. A malformed value is
   * ignored.
   */
  traceparent?: string | null;
  /** The `tracestate` that belongs to `traceparent`. */
  tracestate?: string | null;
  attachments?: Attachment[] | null;
}

/** An event in a list. */
export interface EventItem {
  id: string;
  environment: Environment;
  eventType: string;
  occurredAt: string;
  receivedAt: string;
  source: string | null;
  customerExternalId: string | null;
  correlationId: string | null;
  requestId: string | null;
  idempotencyKey: string | null;
  deliveries: number;
  origin: "API" | "FILE" | "OWN" | "TEST";
  /** The time when the content was erased. Null: it was not erased. */
  erasedAt: string | null;
  /**
   * The W3C Trace Context that its deliveries continue: the event's own; otherwise the span
   * `accept` if the server traces the request; otherwise the request's. Null: no trace.
   */
  traceparent: string | null;
}

/** A page of a list, newest first. */
export interface EventPage {
  items: EventItem[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** One present rule's judgement of an accepted event. */
export interface ExplainedRule {
  /** Null for the trial rule. */
  ruleId: string | null;
  name: string;
  destinationId: string | null;
  destinationStatus: DestinationStatus | null;
  enabled: boolean;
  /** The first of `eventTypes` that matches the type. */
  pattern: string | null;
  /** True if the destination belongs to the event's customer, or to no customer. */
  customerMatches: boolean;
  filter: string | null;
  /** The filter's result. Null: no filter, or it failed. */
  filterValue: boolean | null;
  filterError: string | null;
  /**
   * The values that the filter reads from the event, at most 8. Null in an embed session without
   * the permission `viewPayloads`.
   */
  filterRead: FilterMember[] | null;
  priority: Priority;
  matches: boolean;
  reason: "MATCHES" | "OTHER_TYPE" | "RULE_DISABLED" | "DESTINATION_ARCHIVED" | "OTHER_CUSTOMER" | "FILTER_FALSE" | "FILTER_FAILED";
  /** True if the rule was created or changed after the event. */
  changedSince: boolean;
  /** The delivery to the rule's destination. Null: there is none. */
  deliveryId: string | null;
}

/**
 * A file as JSON, with either a `source` or `content`. `content` is base64 or a `data:` URI, and
 * has at most 1 MiB when decoded.
 */
export interface FileInput {
  fileName?: string | null;
  contentType?: string | null;
  /** Your own name for this kind of file, such as `invoice`. */
  fileType?: string | null;
  /** At most 16 KiB as JSON. */
  metadata?: Record<string, unknown> | null;
  eventType?: string;
  customerExternalId?: string | null;
  /** A key that is unique in the environment for 24 hours. */
  idempotencyKey?: string | null;
  content?: string | null;
  source?: FileSource | null;
}

/** A file. Its type and name are the sender's claims: the service does not check the content. */
export interface FileItem {
  id: string;
  environment: Environment;
  /** PENDING: not fetched from its URL yet. FAILED: it could not be fetched. */
  state: "PENDING" | "STORED" | "FAILED";
  purpose: "UPLOAD" | "ATTACHMENT";
  fileName: string | null;
  contentType: string | null;
  fileType: string | null;
  sizeBytes: number | null;
  /** In hexadecimal. */
  sha256: string | null;
  metadata: Record<string, unknown> | null;
  /** The kind of source. A source URL is not shown, because it can be secret. */
  source: "CONTENT" | "INLINE" | "URL" | "FILE";
  customerExternalId: string | null;
  eventId: string;
  /** The reason why it is FAILED. */
  error: string | null;
  createdAt: string;
  /** The time when retention removes it, by the present plan. */
  expiresAt: string;
}

/** A page of a list, newest first. */
export interface FilePage {
  items: FileItem[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A file that is durable, with its event. */
export interface FileReceipt {
  id: string;
  eventId: string;
  /** Null until the file was fetched from its URL. */
  sizeBytes: number | null;
  /** In hexadecimal. Null until the file was fetched from its URL. */
  sha256: string | null;
  /** True if the `idempotencyKey` was used before: this is its first file. */
  duplicate: boolean;
  deliveries: number;
}

/** The source of a file: a URL that the service fetches, or a `data:` URI. */
export interface FileSource {
  kind: "URL" | "INLINE";
  uri: string;
}

/**
 * The failed evaluations of a rule's filter since the filter was written. If its evaluation for an
 * event fails, the rule does not match the event.
 */
export interface FilterErrors {
  count: number;
  lastAt: string;
  lastMessage: string;
}

/** A field of the event that a filter reads. */
export interface FilterMember {
  /** The path, such as `event.payload.total`. */
  path: string;
  /** The value as JSON, cut off after 200 characters. Null: the event has no such field. */
  value: string | null;
}

/** The found objects. */
export interface Findings {
  /** At most 20 from each kind of search. */
  items: Found[];
}

/** A found object. */
export interface Found {
  kind: "EVENT" | "DELIVERY" | "DESTINATION" | "ROUTING_RULE" | "TRANSFORM_SCRIPT" | "REPLAY_JOB" | "SCHEMA" | "FILE" | "CUSTOMER" | "EVENT_TYPE";
  /** The id. CUSTOMER: the customerExternalId. EVENT_TYPE: the type itself. */
  id: string;
  /** A name for people. For an event or a delivery, the event's type. */
  label: string;
}

/** The counters of the hour (UTC) that begins at `at`. */
export interface HourCounts {
  attempts: number;
  delivered: number;
  failed: number;
  retried: number;
  deadLettered: number;
  at: string;
}

/** The HTTP method of requests. */
export type HttpMethod = "POST" | "PUT" | "PATCH";

/** The selection of events from which a schema is inferred. */
export interface InferenceDraft {
  eventType: string;
  /** The most events. */
  sample?: number;
  /** Received at or after. */
  from?: string | null;
  /** Also create a draft from the schema. */
  create?: boolean;
}

/** A schema inferred from recent events of a type. */
export interface InferredSchema {
  eventType: string;
  /** The number of sampled events. */
  sampled: number;
  /** A schema to which all sampled events conform. */
  schema: Record<string, unknown> | boolean;
  conflicts: Conflict[];
  /** The draft that was created from the schema. Null without `create`. */
  created: SchemaVersion | null;
}

/** An accepted event, which is durable. */
export interface IngestResult {
  id: string;
  eventType: string;
  receivedAt: string;
  duplicate: boolean;
  deliveries: number;
}

/** A new key. */
export interface KeyDraft {
  /** Only an MCP key or the command line can create an MCP_KEY. */
  kind?: KeyKind | null;
  name: string;
  /** The scope. An MCP key has `read` or `manage`. */
  scope: Scope;
  /** The environment of an API key. Needed if an MCP key creates it; otherwise the creator's own. */
  environment?: Environment | null;
}

/** API_KEY: a key of one environment. MCP_KEY: a key of the whole workspace. */
export type KeyKind = "API_KEY" | "MCP_KEY";

/**
 * The waiting deliveries of one destination that have the same ordering key. They are sent one
 * after another.
 */
export interface Lane {
  /**
   * The value that the lane's events share. Null for DESTINATION, the one lane of a destination
   * with ordering STRICT.
   */
  key: string | null;
  kind: "CUSTOMER" | "CORRELATION" | "SOURCE" | "DESTINATION";
  /** Its waiting deliveries, including the head. */
  depth: number;
  /** True if the lane can have more deliveries than `depth`. */
  atLeast: boolean;
  /** The delivery that must end first. Null if it ended during this request. */
  head: DeliveryItem | null;
  /** The earliest time of the head's next attempt. Null: now, or unknown. */
  until: string | null;
}

/** A page of a list, newest first. */
export interface LanePage {
  items: Lane[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** Percentiles in milliseconds; null without attempts. */
export interface Latency {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/**
 * The long steps of the server's event loop since the process started. While a step runs, all other
 * work of the process waits.
 */
export interface LoopHealth {
  /** The limit in milliseconds. The operator's log has each longer step. */
  limitMs: number;
  /** Steps that took longer than the limit. */
  longSteps: number;
  longestStepMs: number;
  /** The most CPU time of any step. A long step with little CPU time was delayed by the machine. */
  mostStepCpuMs: number;
  /** The long steps that worked for this environment or its workspace. */
  ownLongSteps: number;
}

/** A client certificate for connections to the receiver. The URL must be https. */
export interface MutualTlsAuthentication {
  kind: "MTLS";
  /** PEM, with the chain up to a certificate that the receiver trusts. */
  certificate: string;
  /** PEM, without a passphrase. Shown as ***. */
  privateKey: string;
}

/** A server process on this database, from its start to its end. */
export interface Node {
  /** An id that is new at each start. */
  id: string;
  /** The name of its machine; with several workers, followed by the worker's number. */
  name: string;
  /** The name of its machine. */
  machine: string;
  version: string;
  /** The address for other servers; null if `peer_bind` is not set. */
  address: string | null;
  startedAt: string;
  /** SILENT: no heartbeat for a second. DEAD: a standby takes over its part. */
  state: "LIVE" | "SILENT" | "DEAD";
  /** True for the server that answers this request. */
  answering: boolean;
  /** The age of its last heartbeat, measured at most half a second ago. */
  heartbeatAgeMs: number;
  /** The number of its slots. All workspaces together have 256. */
  slots: number;
  /** The number of its part of the workspaces, from 0. */
  part: number;
  /** The number of parts into which the workspaces are divided. */
  parts: number;
  /** True if its machine is drained: other machines take its parts. */
  drained: boolean;
  /** ACTIVE: it does the work of its part. STANDBY: it can take the part over. */
  role: "ACTIVE" | "STANDBY";
  /** Events a second over the last 10 seconds. */
  acceptedPerSecond: number;
  /** Deliveries a second over the last 10 seconds. */
  deliveredPerSecond: number;
  /** UP or DOWN: the result of the answering server's last connection to it. UNUSED: none. */
  link: "UP" | "DOWN" | "UNUSED";
  /** Deliveries in its memory that wait or are in flight. */
  waiting: number;
}

/** A page of a list, newest first. */
export interface NodePage {
  items: Node[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The waiting deliveries to cancel or retry: those that match all given fields. */
export interface OrderDraft {
  /** Deliveries to this destination. */
  destinationId: string;
  /** Patterns as in a routing rule. Null: every type. */
  eventTypes?: string[] | null;
  /** Deliveries of this customer's events. */
  customerExternalId?: string | null;
  /** Created at or after. */
  from?: string | null;
  /** Created before. */
  to?: string | null;
  /** PENDING: not attempted yet; RETRYING: failed before. Null: both. */
  status?: "PENDING" | "RETRYING" | null;
  /** The most deliveries. Null: all. */
  limit?: number | null;
  /** Only count the deliveries that match. */
  dryRun?: boolean;
}

/** The scope of first-in first-out order: none, a key of the event, or the destination. */
export type Ordering = "NONE" | "KEY" | "STRICT";

/** The origin of a delivery. */
export type OriginKind = "NORMAL" | "REPLAY" | "INSPECTION";

/** Counters of attempts and deliveries, as in the analytics. */
export interface OutcomeCounts {
  attempts: number;
  delivered: number;
  failed: number;
  retried: number;
  deadLettered: number;
}

/**
 * The permissions of one customer's sessions. If a permission is null, the permission of the same
 * name in the workspace setting `customerMay` applies.
 */
export interface PermissionsDraft {
  createDestinations?: boolean | null;
  editDestinations?: boolean | null;
  switchDestinations?: boolean | null;
  archiveDestinations?: boolean | null;
  testDestinations?: boolean | null;
  editHeaders?: boolean | null;
  editDeliveryOptions?: boolean | null;
  rotateSecrets?: boolean | null;
  manageRules?: boolean | null;
  manageTransforms?: boolean | null;
  retryDeliveries?: boolean | null;
  discardDeliveries?: boolean | null;
  replay?: boolean | null;
  viewPayloads?: boolean | null;
}

/** A destination that the event would reach. */
export interface PreviewDestination {
  destinationId: string;
  name: string;
  /** DISABLED: its deliveries are held. */
  status: "ACTIVE" | "DISABLED";
  priority: Priority;
  /** The rule that selects it; null for the trial rule. */
  ruleId: string | null;
}

/**
 * A configuration to preview, and an event. The event is `event`, or the event with the id
 * `eventId`. If both are left out, the event is the template's example.
 */
export interface PreviewDraft {
  /** The configuration. Secrets can be masked or left out. */
  config?: Record<string, unknown>;
  /** A destination of this template. Then `config` is a merge patch of its configuration. */
  destinationId?: string | null;
  /**
   * An event as for `POST /events`. Without `eventType`: an outbound body, or the body that a
   * transform script returns, with `type`, `data` and the other fields.
   */
  event?: Record<string, unknown> | null;
  /** The id of an accepted event. */
  eventId?: string | null;
}

/** An example event, as for `POST /events`, and optionally a rule to try. */
export interface PreviewInput {
  event: EventInput;
  rule?: RuleTrial | null;
}

/** The reason why the event would be refused: it does not match the active schema of its type. */
export interface PreviewRefusal {
  code: string;
  message: string;
  details: ErrorDetail[];
}

/** One rule's judgement of the event. */
export interface PreviewRule {
  /** Null for the trial rule. */
  ruleId: string | null;
  name: string;
  destinationId: string | null;
  destinationStatus: DestinationStatus | null;
  enabled: boolean;
  /** The first of `eventTypes` that matches the type. */
  pattern: string | null;
  /** True if the destination belongs to the event's customer, or to no customer. */
  customerMatches: boolean;
  filter: string | null;
  /** The filter's result. Null: no filter, or it failed. */
  filterValue: boolean | null;
  filterError: string | null;
  /**
   * The values that the filter reads from the event, at most 8. Null in an embed session without
   * the permission `viewPayloads`.
   */
  filterRead: FilterMember[] | null;
  priority: Priority;
  matches: boolean;
  reason: "MATCHES" | "OTHER_TYPE" | "RULE_DISABLED" | "DESTINATION_ARCHIVED" | "OTHER_CUSTOMER" | "FILTER_FALSE" | "FILTER_FAILED";
}

/** The urgency of a delivery. */
export type Priority = "STANDARD" | "HIGH" | "CRITICAL";

/** The waiting deliveries of a destination, and its rates. */
export interface Queue {
  pending: number;
  inFlight: number;
  /** The configured value; with `auto` the present value. */
  concurrency: number;
  /**
   * The lowest concurrency that would keep up with the busiest ten seconds of the last five
   * minutes, by Little's law. Null after fewer than 20 attempts.
   */
  suggestedConcurrency: number | null;
  /**
   * The most attempts in flight: 1 with ordering STRICT and while the circuit probes, 0 while the
   * destination is disabled.
   */
  effectiveConcurrency: number;
  /** Over the last minute. */
  arrivalsPerSecond: number;
  /** Over the last minute. */
  deliveredPerSecond: number;
  /**
   * The time in which these rates would clear the waiting deliveries. Null if none wait, or if at
   * least as many arrive as are delivered.
   */
  drainSeconds: number | null;
  /**
   * The age of the oldest waiting delivery. Null if none waits. In the stream also null while some
   * wait only in the database, unless the stream is of one destination.
   */
  oldestPendingSeconds: number | null;
}

/** The quotas of a customer's account. Null: the quota of the workspace's plan. */
export interface QuotasDraft {
  /** Destinations, without archived ones. */
  destinations?: number | null;
  /** Routing rules of the customer's destinations. */
  rules?: number | null;
  /** Transform scripts of the customer's destinations. */
  transforms?: number | null;
  /** Requests of all the customer's sessions together. */
  requestsPerMinute?: number | null;
}

/** A delivery made when the event was accepted. */
export interface RecordedDelivery {
  deliveryId: string;
  destinationId: string;
  status: DeliveryStatus;
}

/** The reason why an event of a batch was rejected. */
export interface Rejection {
  code: ErrorCode;
  message: string;
  details?: ErrorDetail[];
}

/** The deliveries to send again: those that match all given fields. */
export interface ReplayDraft {
  /** Deliveries to this destination. */
  destinationId?: string | null;
  /** Deliveries to the destinations of this customer account. */
  customerAccountId?: string | null;
  /** Patterns as in a routing rule. Null: every type. */
  eventTypes?: string[] | null;
  /** Only deliveries with these statuses. Null: all three. Unsettled ones are never replayed. */
  statuses?: ("DELIVERED" | "FAILED" | "DRY_RUN")[] | null;
  /** Only these deliveries. A delivery that is itself a replay must be named here. */
  deliveryIds?: string[] | null;
  /** Created at or after. */
  from?: string | null;
  /** Created before. */
  to?: string | null;
  /** Only count the deliveries that would be replayed. */
  dryRun?: boolean | null;
  /**
   * AGAIN: send settled deliveries again. MISSING: send the events that match the destination's
   * present rules and have no delivery to it. MISSING needs `destinationId`, and allows no
   * `statuses` and no `deliveryIds`.
   */
  mode?: "AGAIN" | "MISSING" | null;
  /** The most deliveries that are enqueued a second. Null: as many as the receivers take. */
  ratePerSecond?: number | null;
}

/** A replay job: its selection and its progress. */
export interface ReplayJob {
  id: string;
  environment: Environment;
  from: string | null;
  kind: "REPLAY" | "CANCEL" | "RETRY";
  /** Null for CANCEL and RETRY. */
  mode: "AGAIN" | "MISSING" | null;
  destinationId: string | null;
  /** The customer account to which all destinations of the job belong, if there is one. */
  customerAccountId: string | null;
  eventTypes: string[] | null;
  /** CANCEL and RETRY: only deliveries of this customer's events. */
  customerExternalId: string | null;
  statuses: ("DELIVERED" | "FAILED" | "DRY_RUN" | "PENDING" | "RETRYING")[] | null;
  deliveryIds: string[] | null;
  to: string | null;
  /** CANCEL and RETRY: the most deliveries. */
  limit: number | null;
  dryRun: boolean;
  ratePerSecond: number | null;
  /** Selected deliveries. While the job is PENDING: the number so far. */
  total: number;
  /**
   * REPLAY: new deliveries. CANCEL: cancelled deliveries. RETRY: deliveries that became due or were
   * attempted.
   */
  enqueued: number;
  /**
   * REPLAY: the event was removed, or the destination was archived. CANCEL and RETRY: the delivery
   * ended before the job reached it.
   */
  skipped: number;
  /** New deliveries that were delivered. */
  delivered: number;
  /** New deliveries that failed. */
  failed: number;
  status: ReplayStatus;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** The reason why it is FAILED. */
  error: string | null;
}

/** A replay job with its destinations: the 100 with the most deliveries. */
export interface ReplayJobDetail {
  id: string;
  environment: Environment;
  from: string | null;
  kind: "REPLAY" | "CANCEL" | "RETRY";
  /** Null for CANCEL and RETRY. */
  mode: "AGAIN" | "MISSING" | null;
  destinationId: string | null;
  /** The customer account to which all destinations of the job belong, if there is one. */
  customerAccountId: string | null;
  eventTypes: string[] | null;
  /** CANCEL and RETRY: only deliveries of this customer's events. */
  customerExternalId: string | null;
  statuses: ("DELIVERED" | "FAILED" | "DRY_RUN" | "PENDING" | "RETRYING")[] | null;
  deliveryIds: string[] | null;
  to: string | null;
  /** CANCEL and RETRY: the most deliveries. */
  limit: number | null;
  dryRun: boolean;
  ratePerSecond: number | null;
  /** Selected deliveries. While the job is PENDING: the number so far. */
  total: number;
  /**
   * REPLAY: new deliveries. CANCEL: cancelled deliveries. RETRY: deliveries that became due or were
   * attempted.
   */
  enqueued: number;
  /**
   * REPLAY: the event was removed, or the destination was archived. CANCEL and RETRY: the delivery
   * ended before the job reached it.
   */
  skipped: number;
  /** New deliveries that were delivered. */
  delivered: number;
  /** New deliveries that failed. */
  failed: number;
  status: ReplayStatus;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** The reason why it is FAILED. */
  error: string | null;
  destinations: ReplayShare[];
  /** For a COMPLETED dry run of a replay: the 20 most frequent event types. */
  types: TypeShare[] | null;
  /** For a COMPLETED dry run of a replay: up to three requests that would be sent. */
  samples: SentRequest[] | null;
}

/** A page of a list, newest first. */
export interface ReplayJobPage {
  items: ReplayJob[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The part of a job that a caller can change until the job ends. */
export interface ReplayPatch {
  /** The most deliveries that are enqueued a second. Null: as many as the receivers take. */
  ratePerSecond?: number | null;
}

/** The progress of a replay job. */
export interface ReplayProgress {
  /** Selected deliveries. While the job is PENDING: the number so far. */
  total: number;
  /**
   * REPLAY: new deliveries. CANCEL: cancelled deliveries. RETRY: deliveries that became due or were
   * attempted.
   */
  enqueued: number;
  /**
   * REPLAY: the event was removed, or the destination was archived. CANCEL and RETRY: the delivery
   * ended before the job reached it.
   */
  skipped: number;
  /** New deliveries that were delivered. */
  delivered: number;
  /** New deliveries that failed. */
  failed: number;
  id: string;
  status: ReplayStatus;
  remaining: number;
  percent: number;
  /** Deliveries that ended per second, recently. */
  perSecond: number | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** The estimated time to the end. Null: unknown. */
  etaSeconds: number | null;
}

/** One destination's part of a job. */
export interface ReplayShare {
  destinationId: string;
  total: number;
  enqueued: number;
  skipped: number;
}

/** The state of a job. */
export type ReplayStatus = "PENDING" | "RUNNING" | "PAUSED" | "COMPLETED" | "FAILED" | "CANCELLED";

/** A delivery that is retried from the dead-letter queue. */
export interface Requeued {
  id: string;
}

/** A routing rule. */
export interface RoutingRule {
  id: string;
  environment: Environment;
  name: string;
  destinationId: string;
  eventTypes: string[];
  filter: string | null;
  priority: Priority;
  enabled: boolean;
  /** Null if there were none. */
  filterErrors: FilterErrors | null;
  createdAt: string;
  updatedAt: string;
}

/** A page of a list, newest first. */
export interface RoutingRulePage {
  items: RoutingRule[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** A routing rule as a caller writes it. */
export interface RuleDraft {
  name: string;
  destinationId: string;
  /**
   * Patterns, such as `order.*`. A * matches one segment; at the end, one or more. A single *
   * matches all types except angarium.*.
   */
  eventTypes: string[];
  /**
   * A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
   * occurredAt), at most 2 KiB. Null: every event of these types.
   */
  filter?: string | null;
  priority?: Priority | null;
  enabled?: boolean | null;
}

/** A routing rule as a caller writes it. */
export interface RulePatch {
  name?: string;
  destinationId?: string;
  /**
   * Patterns, such as `order.*`. A * matches one segment; at the end, one or more. A single *
   * matches all types except angarium.*.
   */
  eventTypes?: string[];
  /**
   * A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
   * occurredAt), at most 2 KiB. Null: every event of these types.
   */
  filter?: string | null;
  priority?: Priority | null;
  enabled?: boolean | null;
}

/** The result of the routing rules for an example event. */
export interface RulePreview {
  eventType: string;
  customerExternalId: string | null;
  accepted: boolean;
  refusal: PreviewRefusal | null;
  destinations: PreviewDestination[];
  /** The rules for this type, and the trial rule. */
  rules: PreviewRule[];
  /** The number of rules for other types only. */
  otherRules: number;
  /**
   * The number of rules that are not listed: `rules` has at most 1,000, and 1 MiB. Rules of other
   * customers' destinations come last.
   */
  omittedRules: number;
}

/** A rule to try, which is not stored. `destinationId` can be left out. */
export interface RuleTrial {
  name?: string;
  destinationId?: string | null;
  eventTypes: string[];
  filter?: string | null;
  priority?: Priority | null;
  enabled?: boolean;
}

/** The sample event of a test. Every field can be left out. */
export interface SampleDraft {
  /** Null: `angarium.test`. */
  eventType?: string | null;
  /** Null: the example of the type's active schema, otherwise a short message. */
  payload?: Record<string, unknown> | null;
  /** Show the request and send nothing. */
  dryRun?: boolean;
}

/**
 * An event schema as a caller writes it. The schema, its example and its description together have
 * at most 64 KiB.
 */
export interface SchemaDraft {
  eventType: string;
  /**
   * JSON Schema 2020-12. `$ref` must stay within the document. Patterns have no look-around and no
   * backreferences. Formats are checked.
   */
  schema: Record<string, unknown> | boolean;
  description?: string | null;
  /** An example payload, which must conform. Null: no example. */
  example?: unknown;
}

/** The state of a version. */
export type SchemaStatus = "DRAFT" | "ACTIVE" | "DEPRECATED";

/** One version of an event type's schema. */
export interface SchemaVersion {
  id: string;
  environment: Environment;
  eventType: string;
  /** The event type's versions count from 1. */
  version: number;
  status: SchemaStatus;
  /** JSON Schema 2020-12. */
  schema: Record<string, unknown> | boolean;
  description: string | null;
  example: unknown;
  createdAt: string;
  /** The time when it was last activated. Null for a draft. */
  activatedAt: string | null;
}

/** A page of a list, newest first. */
export interface SchemaVersionPage {
  items: SchemaVersion[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The permission of a key. */
export type Scope = "ingest" | "read" | "manage";

/** The last request sent, without its signature and with masked values. */
export interface SentRequest {
  method: HttpMethod;
  url: string;
  headers: Record<string, string>;
  /** The body, built again with the same script and template. Null if that is no longer possible. */
  body: string | null;
  /** The reason why the body is missing or incomplete. */
  note: string | null;
}

/** The customer and the lifetime of a new session. */
export interface SessionDraft {
  /** The end-customer. An account is created for a new customer. */
  customerExternalId: string;
  /** How long the session is valid. A session cannot be ended earlier. */
  ttlSeconds?: number;
}

/** A workspace's settings. */
export interface SettingsPatch {
  branding?: BrandingPatch | null;
  /** Origins whose pages can call the API: https, or http for localhost and 127.0.0.1. */
  allowedOrigins?: string[] | null;
  customerMay?: CustomerMayPatch | null;
  /** The page that the portal links to as the way back; https only. */
  returnUrl?: string | null;
}

/** The signing of outbound bodies, with the public keys if the algorithm has any. */
export interface Signing {
  algorithm: SigningAlgorithm;
  /** whpk_...; Ed25519 only. */
  publicKey?: string;
  /** The former key, while it also signs after a rotation. */
  previousPublicKey?: string;
}

/** The algorithm of the signature. */
export type SigningAlgorithm = "HMAC_SHA256" | "ED25519";

/** The signatures of outbound bodies. */
export interface SigningOptions {
  algorithm?: SigningAlgorithm;
}

/** The signatures of outbound bodies. */
export interface SigningOptionsPatch {
  algorithm?: SigningAlgorithm | null;
}

/**
 * The request of a preview, with masks for secrets. Headers that differ from attempt to attempt,
 * such as the signature, are left out.
 */
export interface SketchedRequest {
  method: "POST";
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** The source of an attachment. */
export interface Source {
  kind: string;
  uri: string;
}

/** The operation was done. */
export interface Success {
  success: boolean;
}

/**
 * A destination made from a template, as a caller writes it. The template builds the URL from
 * `config`. The template's defaults apply to fields that are missing in `delivery`.
 */
export interface TemplateDestinationDraft {
  /** An id from `GET /destination-templates`. */
  templateId: string;
  name: string;
  /** Values that match the template's `configSchema`. Answers show secrets as ***. */
  config: Record<string, unknown>;
  description?: string | null;
  /** The end-customer whose events the destination receives. */
  customerExternalId?: string | null;
  /** The id of the same customer's account. */
  customerAccountId?: string | null;
  /**
   * Sent with every request. Names are case-insensitive. Answers show *** for authorization,
   * cookie, and names that contain key, token, secret or the like.
   */
  headers?: Record<string, string> | null;
  delivery?: DeliveryOptions | null;
  signing?: SigningOptions | null;
  method?: HttpMethod | null;
  /** Authentication of requests to receivers. Answers show secrets as ***. */
  authentication?: BasicAuthentication | BearerAuthentication | ClientCredentialsAuthentication | MutualTlsAuthentication | null;
  /** Disable the destination after it has failed for this many seconds. Null: never. */
  disableAfterSeconds?: number | null;
  /**
   * A signing secret of 24 to 64 bytes that receivers already know. Null: the server makes a new
   * one.
   */
  secret?: string | null;
}

/**
 * An example: an outbound event, a configuration, and the request body that the template makes of
 * both.
 */
export interface TemplateExample {
  event: Record<string, unknown>;
  config: Record<string, unknown>;
  /** The body: JSON, or a string if the service has another format. */
  body: unknown;
}

/** The request of a template. */
export interface TemplatePreview {
  /** Null if `errors` has any. */
  request: SketchedRequest | null;
  /** The problems of `config` or the event. */
  errors: ErrorDetail[];
}

/** The result of a test with a sample. */
export interface TestResult {
  /** Null with `dryRun`. */
  deliveryId: string | null;
  success: boolean;
  /** True if the transform script returned null: nothing was sent. */
  skipped: boolean;
  responseStatus: number | null;
  /** Null with `dryRun`. */
  durationMs: number | null;
  errorCategory: ErrorCategory | null;
  errorMessage: string | null;
  responseBody: string | null;
  /** With `dryRun`: the request that would be sent. */
  request: SentRequest | null;
}

/** An environment's rates over the last minute, and its waiting deliveries. */
export interface Throughput {
  environment: Environment;
  at: string;
  windowSeconds: "60";
  /** Events a second. */
  accepted: number;
  /** Deliveries a second. */
  delivered: number;
  /** Failed attempts a second. */
  failed: number;
  /** Attempts a second. */
  attempts: number;
  /** Waiting deliveries, including RETRYING ones. */
  pending: number;
  /** Deliveries that are being sent or recorded. */
  inFlight: number;
  /** The last 60 seconds, oldest first. The last second is not complete. */
  series: ThroughputPoint[];
  loop: LoopHealth;
}

/** The counts of one second. */
export interface ThroughputPoint {
  at: string;
  accepted: number;
  delivered: number;
  failed: number;
  attempts: number;
}

/** A transform script as a caller writes it. */
export interface TransformDraft {
  destinationId: string;
  name: string;
  /** JavaScript with `function transform(event) { return ...; }`: at most 64 KiB. */
  source: string;
}

/** A script to run without storing it, and its input. */
export interface TransformPreviewDraft {
  /** The destination for which the script is meant. */
  destinationId: string;
  /** JavaScript with `function transform(event) { return ...; }`: at most 64 KiB. */
  source: string;
  event?: Record<string, unknown> | null;
  eventId?: string | null;
}

/** The result of a script's run. Nothing was sent or recorded. */
export interface TransformRun {
  success: boolean;
  /** The outbound body given to the script. */
  input: unknown;
  /** The body that would be sent; null if nothing would be sent. */
  output: unknown;
  /** True if the script returned null: nothing would be sent. */
  skipped: boolean;
  /** The type set by the script. */
  type: string | null;
  /** The headers set by the script. */
  headers: Record<string, string>;
  /** The output of the script, at most 4 KiB. */
  logs: string | null;
  durationMs: number;
  errorCategory: ErrorCategory | null;
  errorMessage: string | null;
}

/** One version of a destination's transform script. */
export interface TransformScript {
  id: string;
  destinationId: string;
  environment: Environment;
  name: string;
  /** The destination's versions count from 1. Attempts record the version. */
  version: number;
  source: string;
  /** PUBLISHED: every new attempt uses this version. SUPERSEDED: it was PUBLISHED earlier. */
  status: "DRAFT" | "PUBLISHED" | "SUPERSEDED";
  /** The time when it was last published. Null for a draft. */
  publishedAt: string | null;
  createdAt: string;
}

/** A page of a list, newest first. */
export interface TransformScriptPage {
  items: TransformScript[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
  /**
   * Present if the search stopped early: everything that is newer than this time was examined. The
   * next page continues from there.
   */
  searchedTo?: string;
}

/** The input of a trial run: an outbound body, or the id of an event. */
export interface TrialDraft {
  event?: Record<string, unknown> | null;
  eventId?: string | null;
}

/** One event type's part of a job. */
export interface TypeShare {
  eventType: string;
  total: number;
}

/** A workspace with its settings, which apply in all of its environments. */
export interface Workspace {
  id: string;
  name: string;
  plan: string;
  branding: Branding;
  /** Origins whose pages can call the API: https, or http for localhost and 127.0.0.1. */
  allowedOrigins: string[];
  customerMay: CustomerMay;
  /** The page that the portal links to as the way back; https only. */
  returnUrl: string | null;
  /** The time of the last change. Null: all settings are defaults. */
  updatedAt: string | null;
}
