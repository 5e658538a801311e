/** The client of Angarium. */

export { Angarium, type ClientOptions } from "./client.js";
export {
  AngariumError,
  ApiError,
  ConnectionFailedError,
  type Detail,
  EventsFailedError,
  UnexpectedAnswerError,
  VerificationError,
} from "./errors.js";
export type { StreamQuery, UploadOptions } from "./handwritten.js";
export { Producer, type ProducerOptions, type Report, type Sent } from "./producer.js";
export { sign, verify, type HeadersLike, type VerifyOptions } from "./receiver.js";
export type { CallOptions, Page } from "./resource.js";
export type { RetryPolicy } from "./retry.js";
export type * from "./shapes.js";
