/**
 * How much time and memory the work on one piece of user content may take. The worker that exceeds a limit is killed and replaced;
 * only the document, ontology, batch or query that it worked on fails.
 */
import type { TaskLimit } from "@detent/durable/ProcessPool"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export interface ContentLimits {
  /** Reading a document: PDF, HTML, Markdown and JSON as a whole, CSV in parts. */
  readonly document: TaskLimit
  /** One chunk of a document by the built-in extractor. */
  readonly chunk: TaskLimit
  /** Loading an ontology or shapes, and training the built-in extractor with an ontology. */
  readonly ontology: TaskLimit
  /** Resolving and validating the graph of a batch. */
  readonly graph: TaskLimit
  /** A SPARQL query, including the loading of its graph. The caller may set a shorter time. */
  readonly query: TaskLimit
}

const isTime = (value: unknown): value is Duration.Input => {
  const time = Duration.fromInput(value as Duration.Input)
  return Option.isSome(time) && Duration.isGreaterThan(time.value, Duration.zero)
}

/** An idle worker process already uses half of this. */
const leastMemory = 200

const Limit = Schema.Struct({
  time: Schema.optionalKey(Schema.declare(isTime, { expected: 'a duration above zero, such as "2 minutes"' })),
  memory: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(leastMemory))),
})

/** Limits as a caller writes them. A limit that is left out has its default. */
export const ContentLimitOptions = Schema.Struct({
  document: Schema.optionalKey(Limit),
  chunk: Schema.optionalKey(Limit),
  ontology: Schema.optionalKey(Limit),
  graph: Schema.optionalKey(Limit),
  query: Schema.optionalKey(Limit),
} satisfies Record<keyof ContentLimits, unknown>)
export type ContentLimitOptions = typeof ContentLimitOptions.Type

export const defaultContentLimits: ContentLimits = {
  document: { time: "60 seconds", memory: 1024 },
  chunk: { time: "60 seconds", memory: 1024 },
  ontology: { time: "60 seconds", memory: 1024 },
  graph: { time: "10 minutes", memory: 4096 },
  query: { time: "30 seconds", memory: 2048 },
}

export const contentLimitsOf = (options: ContentLimitOptions = {}): ContentLimits => ({
  document: { ...defaultContentLimits.document, ...options.document },
  chunk: { ...defaultContentLimits.chunk, ...options.chunk },
  ontology: { ...defaultContentLimits.ontology, ...options.ontology },
  graph: { ...defaultContentLimits.graph, ...options.graph },
  query: { ...defaultContentLimits.query, ...options.query },
})
