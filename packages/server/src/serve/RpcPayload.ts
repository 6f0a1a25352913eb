/** Decodes the payload of a procedure. An unknown key is refused, and the error suggests the nearest known key. */

import type { BadRequest } from "@detent/api/Problem"
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { badRequest } from "./ProblemOf.ts"

export const payloadOf = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) => {
  const decode = decodeStrictly(Schema.toCodecJson(schema))
  return (payload: unknown): Effect.Effect<S["Type"], BadRequest> => Effect.mapError(Effect.fromResult(decode(payload)), payloadRefused)
}

/** The answer to an invalid payload. */
export const payloadRefused = (problem: string): BadRequest =>
  badRequest("PayloadInvalid", `the payload does not fit: ${problem}; GET /openapi.json has the schema`)
