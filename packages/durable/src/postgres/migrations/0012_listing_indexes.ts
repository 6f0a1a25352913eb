/**
 * Instances of a machine, or of all, are listed by merging those of each state: the two indexes that had them in one order are not
 * needed. Keeping them took half of what it costs to bring the listing up to date.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/unstable/sql/SqlClient"

export const listingIndexes = (schema: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`drop index if exists ${schema}.listing_changed`)
    yield* sql.unsafe(`drop index if exists ${schema}.listing_machine`)
  })
