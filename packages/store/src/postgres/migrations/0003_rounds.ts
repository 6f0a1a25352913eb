/**
 * A command that failed for good and that an operator retries begins a new round; its instance accepts the event that follows from it once
 * per round. The function that claims commands returns the round and has a new name: processes of the previous version continue to call
 * theirs.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { exchangeFunction, withRounds } from "../exchangeFunction.ts"

export const rounds = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`alter table ${schema}.commands add column round integer not null default 0`)
    yield* sql.unsafe(exchangeFunction(schema, withRounds))
  })
