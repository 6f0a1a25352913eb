/**
 * Answers of a model, stored when they arrive and until the checkpoint of their chunks covers them. A process that is killed in
 * between does not ask, nor pay, for them again.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Chunk, Usage } from "../extract/Extractor.ts"
import type { Fact, FactObject, Mention } from "../extract/Fact.ts"
import { contentHashOf, type RunId } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { RunStore, type RunStoreFailed } from "./RunStore.ts"

const Span = Schema.Struct({ start: Count, end: Count })

const StoredMention: Schema.Codec<Mention, unknown> = Schema.Struct({
  type: Schema.String,
  text: Schema.String,
  span: Span,
  confidence: Schema.Finite,
  name: Schema.optionalKey(Schema.String),
})

const StoredObject: Schema.Codec<FactObject, unknown> = Schema.Union([
  Schema.TaggedStruct("Entity", { mention: StoredMention }),
  Schema.TaggedStruct("Value", { text: Schema.String, span: Span, datatype: Schema.String, lexical: Schema.String }),
])

const StoredFact: Schema.Codec<Fact, unknown> = Schema.Struct({
  subject: StoredMention,
  property: Schema.String,
  object: StoredObject,
  quote: Schema.String,
  span: Span,
  confidence: Schema.Finite,
})

const Entities = Schema.fromJsonString(Schema.Struct({ mentions: Schema.Array(StoredMention) }))
const Facts = Schema.fromJsonString(Schema.Struct({ facts: Schema.Array(StoredFact) }))

interface FoundEntities {
  readonly mentions: ReadonlyArray<Mention>
  readonly usage: Usage
}

interface FoundFacts {
  readonly facts: ReadonlyArray<Fact>
  readonly usage: Usage
}

/** Gives the stored answer to the same question, or asks and stores the answer. */
export interface ModelAnswers {
  readonly entities: <E>(
    chunk: Chunk,
    question: unknown,
    ask: Effect.Effect<FoundEntities, E>,
  ) => Effect.Effect<FoundEntities, E | RunStoreFailed>
  readonly facts: <E>(chunk: Chunk, question: unknown, ask: Effect.Effect<FoundFacts, E>) => Effect.Effect<FoundFacts, E | RunStoreFailed>
}

export const loadAnswers = (
  run: RunId,
  extractor: string,
  chunks: ReadonlyArray<Chunk>,
): Effect.Effect<ModelAnswers, RunStoreFailed, RunStore> =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const stored = yield* runs.answers(run, chunks[0]?.index ?? 0, chunks.at(-1)?.index ?? 0)
    const hashOf = ({ text, offset }: Chunk, question: unknown) => contentHashOf(JSON.stringify([extractor, offset, text, question]))

    const recalled =
      <Found extends { readonly usage: Usage }, Content extends Omit<Found, "usage">>(
        step: "entities" | "facts",
        schema: Schema.Codec<Content, string>,
        withUsage: (content: Content, usage: Usage) => Found,
      ) =>
      <E>(chunk: Chunk, question: unknown, ask: Effect.Effect<Found, E>): Effect.Effect<Found, E | RunStoreFailed> =>
        Effect.gen(function* () {
          const hash = hashOf(chunk, question)
          const known = stored.find((one) => one.chunk_index === chunk.index && one.step === step && one.input_hash === hash)
          const content = known === undefined ? Option.none() : Schema.decodeOption(schema)(known.content)
          if (known !== undefined && Option.isSome(content)) {
            const { calls, input_tokens: inputTokens, output_tokens: outputTokens, cost } = known
            return withUsage(content.value, { calls, inputTokens, outputTokens, cost: cost ?? undefined })
          }
          const found = yield* ask
          const { usage, ...said } = found
          yield* runs.saveAnswer({
            run_id: run,
            chunk_index: chunk.index,
            step,
            input_hash: hash,
            content: JSON.stringify(said),
            calls: usage.calls,
            input_tokens: usage.inputTokens,
            output_tokens: usage.outputTokens,
            cost: usage.cost ?? null,
            created_at: yield* Clock.currentTimeMillis,
          })
          return found
        })

    return {
      entities: recalled<FoundEntities, typeof Entities.Type>("entities", Entities, ({ mentions }, usage) => ({ mentions, usage })),
      facts: recalled<FoundFacts, typeof Facts.Type>("facts", Facts, ({ facts }, usage) => ({ facts, usage })),
    }
  })
