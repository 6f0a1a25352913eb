/**
 * Instances of one machine, or of all, are listed by merging the instances of each state, so the two indexes over all states are not
 * needed. Maintaining them took half the cost of bringing the listing up to date.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const listingIndexes = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`drop index if exists ${schema}.listing_changed`)
    yield* sql.unsafe(`drop index if exists ${schema}.listing_machine`)
  })
