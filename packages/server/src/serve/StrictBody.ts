/** Refuses a body with keys that its schema does not know: a misspelt setting must not be dropped without a word. */
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import type { BadRequest } from "../api/Problem.ts"
import { badRequest } from "./ProblemOf.ts"

/** The body was read and decoded before: it is read again from memory, for its keys. */
export const refuseUnknownKeys = <S extends Schema.Top & { readonly DecodingServices: never }>(
  schema: S,
): ((request: HttpServerRequest) => Effect.Effect<void, BadRequest>) => {
  const decode = decodeStrictly(schema)
  return (request) =>
    Effect.flatMap(Effect.orDie(request.json), (body) => {
      const decoded = decode(body)
      return Result.isSuccess(decoded)
        ? Effect.void
        : Effect.fail(badRequest("PayloadInvalid", `the body does not fit: ${decoded.failure}; GET /openapi.json tells what is expected`))
    })
}
