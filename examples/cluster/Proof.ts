/** The content of the journal at the end, read with plain SQL. */
import * as PgClient from "@detent/durable/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"

export interface Proof {
  readonly journaled: number
  /** Readings that were answered and are not in the journal. */
  readonly lost: number
  /** Readings that are in the journal more than once. */
  readonly doubled: number
}

export const prove = (url: string, answered: ReadonlyArray<string>): Effect.Effect<Proof, unknown> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ readonly body: string }>`
      select e.body from detent.events e join detent.instances i on i.instance = e.instance where i.machine = 'meter'`
    const readings = rows.map(({ body }) => /"reading":"([^"]*)"/.exec(body)?.[1])
    const known = new Set(readings)
    return {
      journaled: readings.length,
      lost: answered.filter((reading) => !known.has(reading)).length,
      doubled: readings.length - known.size,
    }
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
