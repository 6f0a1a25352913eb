/** Finds out in which of several forms a server takes requests, and remembers it. */

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import { ExtractionFailed } from "../../Extractor.ts"
import type { ModelRequest } from "../ModelClient.ts"
import type { Post } from "./Post.ts"

/**
 * Sends requests in the first dialect that the server takes, and remembers it. Until then, one call at a time tries them: a server
 * refuses an unknown form before it does any paid work. A server that takes none refuses every document, so the batch stops.
 */
export const inFoundDialect = <Dialect>(extractor: string, dialects: ReadonlyArray<Dialect>, post: Post) =>
  Effect.map(Semaphore.make(1), (one) => {
    let found: { readonly dialect: Dialect } | undefined

    const tried = (body: (dialect: Dialect) => unknown): Effect.Effect<unknown, ExtractionFailed> =>
      Effect.gen(function* () {
        const refusals: Array<ExtractionFailed> = []
        for (const dialect of dialects) {
          const outcome = yield* Effect.result(post(body(dialect)))
          if (Result.isSuccess(outcome)) {
            found = { dialect }
            return outcome.success
          }
          if (outcome.failure._tag !== "FormRefused") return yield* outcome.failure
          refusals.push(outcome.failure.failure)
        }
        // The first form is the usual one: what the server says about it tells the most.
        const [{ reason, detail } = { reason: "NotAllowed", detail: "the server takes no form of the request" } as const] = refusals
        return yield* new ExtractionFailed({ extractor, reason, detail, retryable: false, stops: "ModelRefused" })
      })

    const inDialect = (body: (dialect: Dialect) => unknown, dialect: Dialect) =>
      Effect.catchTag(post(body(dialect)), "FormRefused", ({ failure }) => Effect.fail(failure))

    return (body: (dialect: Dialect) => unknown): Effect.Effect<unknown, ExtractionFailed> =>
      Effect.suspend(() =>
        found === undefined
          ? one.withPermit(Effect.suspend(() => (found === undefined ? tried(body) : inDialect(body, found.dialect))))
          : inDialect(body, found.dialect),
      )
  })

/** The instructions for a server that does not take the schema of the answer: it reads it there. */
export const withSchema = ({ system, schema }: ModelRequest): string =>
  `${system}\n\nAnswer with one JSON object that follows this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`
