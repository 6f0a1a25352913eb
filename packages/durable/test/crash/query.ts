/** Reads tables of a store past its engine, for proofs. Statements name the tables as PostgreSQL does: `detent.instances`. */
import { DatabaseSync } from "node:sqlite"
import * as PgClient from "@detent/store/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { StoreAddress } from "./Protocol.ts"

export type Row = Readonly<Record<string, unknown>>

export const query = (store: StoreAddress, statement: string): Promise<ReadonlyArray<Row>> => {
  if (store._tag === "Postgres")
    return Effect.runPromise(
      Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<Row>(statement)).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(store.url), maxConnections: 1 })),
      ),
    )
  const database = new DatabaseSync(store.filename)
  try {
    return Promise.resolve(database.prepare(statement.replaceAll("detent.", "detent_")).all() as ReadonlyArray<Row>)
  } finally {
    database.close()
  }
}
