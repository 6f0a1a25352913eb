/**
 * Commands that failed for good and are retried by hand begin a new round; the event that follows from them is taken once in each. The
 * function that claims them returns the round, under a new name: processes of the version before continue to call theirs.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { exchangeFunction, withRounds } from "../exchangeFunction.ts"

export const rounds = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`alter table ${schema}.commands add column round integer not null default 0`)
    yield* sql.unsafe(exchangeFunction(schema, withRounds))
  })
