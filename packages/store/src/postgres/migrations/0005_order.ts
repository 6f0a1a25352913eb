/**
 * The function that claims commands also returns which of them are ordered, so that a worker that ends one asks for the next immediately.
 * It has a new name: processes of the previous version continue to call theirs.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { exchangeFunction, withOrder } from "../exchangeFunction.ts"

export const order = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(exchangeFunction(schema, withOrder))
  })
