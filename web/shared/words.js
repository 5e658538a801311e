// Made of the API's routes by `python -m api.generation`; do not edit.
/** The words of the API's enumerations. */

export const DELIVERY_ORIGINS = ["NORMAL", "REPLAY", "INSPECTION"];
export const ERROR_CATEGORIES = [
  "TIMEOUT",
  "DNS",
  "CONNECTION",
  "TLS",
  "BLOCKED_ADDRESS",
  "PROTOCOL",
  "REDIRECT",
  "HTTP_4XX",
  "HTTP_5XX",
  "RATE_LIMITED",
  "TRANSFORM",
  "DESTINATION_GONE",
  "INTERNAL",
  "AUTHENTICATION",
];
export const HTTP_METHODS = ["POST", "PUT", "PATCH"];
export const JOB_KINDS = ["REPLAY", "CANCEL", "RETRY"];
export const PRIORITIES = ["STANDARD", "HIGH", "CRITICAL"];
export const REPLAY_STATUSES = ["PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"];
export const SCHEMA_STATUSES = ["DRAFT", "ACTIVE", "DEPRECATED"];
