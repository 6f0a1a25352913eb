/** What can go wrong with a blob. Only `BlobNotFound` says that there is none: a store that does not answer is never read as empty. */
import * as Schema from "effect/Schema"
import { describe } from "./Describe.ts"

export class BlobNotFound extends Schema.TaggedError<BlobNotFound>()("BlobNotFound", { uri: Schema.String }) {
  override get message() {
    return `there is nothing at ${this.uri}; check the address, or whether it was removed`
  }
}

/** The blob is not as the caller last saw it. Nothing was changed. */
export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()("PreconditionFailed", {
  uri: Schema.String,
  /** The generation it should have had; undefined when it should not have been there. */
  expected: Schema.UndefinedOr(Schema.String),
  /** The generation it has; undefined when there is none. */
  actual: Schema.UndefinedOr(Schema.String),
}) {
  override get message() {
    const found = this.actual === undefined ? "there is none" : `it is at generation ${this.actual}`
    const wanted = this.expected === undefined ? "was to be new" : `was to be at generation ${this.expected}`
    return `${this.uri} ${wanted}, but ${found}; read it again and decide anew`
  }
}

/** There is no room. What was there before is unharmed. */
export class StorageFull extends Schema.TaggedError<StorageFull>()("StorageFull", {
  uri: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `no room to write ${this.uri} (${describe(this.cause)}); nothing was changed: free some space or raise the quota, then try again`
  }
}

/** The address is not served here. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {
  uri: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.uri} ${this.problem}; ${this.nextStep}`
  }
}

/** The store failed. `retryable` says whether the same call may succeed later. */
export class StorageFailed extends Schema.TaggedError<StorageFailed>()("StorageFailed", {
  uri: Schema.String,
  operation: Schema.Literals(["read", "write", "list", "remove", "open"]),
  retryable: Schema.Boolean,
  cause: Schema.Defect(),
}) {
  override get message() {
    const next = this.retryable ? "try again" : "see to the cause first"
    return `cannot ${this.operation} ${this.uri}: ${describe(this.cause)}; ${next}`
  }
}

const isOne = Schema.is(Schema.Union([BlobNotFound, PreconditionFailed, StorageFull, AddressRefused, StorageFailed]))

export const isStorageError = (value: unknown): value is StorageError => isOne(value)

export type StorageError = BlobNotFound | PreconditionFailed | StorageFull | AddressRefused | StorageFailed
