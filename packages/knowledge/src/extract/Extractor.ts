/**
 * An extractor turns a piece of text into facts. The built-in extractor is offline and deterministic; others call a model. All work
 * in two steps, first the entities and then the facts between them, so that the result of each step can be stored on its own.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Chunk } from "../document/Chunk.ts"
import type { Fact, Mention, Misfit } from "../fact/Fact.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { UnreadProse } from "./language/ProseLanguage.ts"

/** The usage of a step. The cost is undefined if the price is unknown, never zero. */
export interface Usage {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number | undefined
}

export const noUsage: Usage = { calls: 0, inputTokens: 0, outputTokens: 0, cost: 0 }

/** The sum of two usages. Its cost is undefined if one of the costs is. */
export const addUsage = (one: Usage, other: Usage): Usage => ({
  calls: one.calls + other.calls,
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cost: one.cost === undefined || other.cost === undefined ? undefined : one.cost + other.cost,
})

/** An entity that earlier chunks of the same document named. */
export interface KnownEntity {
  readonly label: string
  /** The IRIs of its classes. */
  readonly types: ReadonlyArray<string>
}

/** An item of an extractor's answer that gives no entity and no fact. */
export interface RejectedItem {
  /** What it says: its property or class, and its quote. */
  readonly text: string
  readonly problem: string
}

export interface ExtractorService {
  /** The name in provenance: `built-in`, `anthropic/claude-…`, `openai/…`. */
  readonly name: string
  /** Whether answers cost money. A run stores each paid answer when it arrives, and passes the known entities to later chunks. */
  readonly isPaid?: boolean
  /** Why the extractor does not read the prose of a language; undefined if it does. An extractor without this reads every language. */
  readonly unread?: (language: string | undefined, ontology: OntologyIndex) => UnreadProse | undefined
  readonly entities: (
    chunk: Chunk,
    ontology: OntologyIndex,
    known?: ReadonlyArray<KnownEntity>,
  ) => Effect.Effect<
    {
      readonly mentions: ReadonlyArray<Mention>
      readonly usage: Usage
      /** Values that give no fact. */
      readonly misfits?: ReadonlyArray<Misfit>
      readonly rejected?: ReadonlyArray<RejectedItem>
    },
    ExtractionFailed
  >
  readonly facts: (
    chunk: Chunk,
    mentions: ReadonlyArray<Mention>,
    ontology: OntologyIndex,
  ) => Effect.Effect<
    { readonly facts: ReadonlyArray<Fact>; readonly usage: Usage; readonly rejected?: ReadonlyArray<RejectedItem> },
    ExtractionFailed
  >
}

export class Extractor extends Context.Service<Extractor, ExtractorService>()("@detent/knowledge/Extractor") {}

// An extractor could not answer. `retryable` says whether another attempt can succeed.

export class ExtractionFailed extends Schema.TaggedError<ExtractionFailed>()("ExtractionFailed", {
  extractor: Schema.String,
  reason: Schema.Literals([
    "RateLimited",
    "Overloaded",
    "Unavailable",
    "TimedOut",
    "Malformed",
    "Refused",
    "NotAllowed",
    "TooLong",
    "LimitExceeded",
    "Bug",
  ]),
  retryable: Schema.Boolean,
  /** The wait before the next call that the service asked for. */
  retryAfterMillis: Schema.optionalKey(Schema.Number),
  /** Set where every other document would fail the same way: the batch stops with this code, and can be resumed. */
  stops: Schema.optionalKey(Schema.Literals(["BudgetExhausted", "PriceUnknown", "ModelRefused", "ModelUnavailable"])),
  detail: Schema.String,
  cause: Schema.optionalKey(Schema.Defect()),
}) {
  override get message() {
    return `${this.extractor} could not answer (${this.reason}): ${this.detail}`
  }
}
