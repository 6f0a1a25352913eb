/** The database of a workspace, from one address: `sqlite:PATH`, or `postgres://…`. */
import { join } from "node:path"
import type { Commands, Journal, Leases, LoopHealth, StoreNotOpened, Timers } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"

/** The address of the database is not valid or names a database that is not supported. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", { problem: Schema.String }) {
  override get message() {
    return `${this.problem}; use sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME`
  }
}

export type Database = { readonly _tag: "Sqlite"; readonly file: string } | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted }

/** Reads the address. The error repeats nothing of it, since it may hold a password. */
export const databaseOf = (address: string | undefined, data: string): Result.Result<Database, DatabaseRefused> => {
  if (address === undefined || address === "") return Result.succeed({ _tag: "Sqlite", file: join(data, "detent.db") })
  const scheme = /^([a-z]+):/i.exec(address)?.[1]?.toLowerCase()
  if (scheme === "postgres" || scheme === "postgresql") {
    return URL.canParse(address)
      ? Result.succeed({ _tag: "Postgres", url: Redacted.make(address) })
      : Result.fail(new DatabaseRefused({ problem: "the address of the PostgreSQL database is no URL" }))
  }
  if (scheme !== "sqlite") {
    const what = scheme === undefined ? "has no scheme" : `has the scheme ${scheme}:, which is not supported`
    return Result.fail(new DatabaseRefused({ problem: `the address of the database ${what}` }))
  }
  const file = address.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "")
  return file === ""
    ? Result.fail(new DatabaseRefused({ problem: "the address of the SQLite database names no file" }))
    : Result.succeed({ _tag: "Sqlite", file })
}

export type Stores = Journal | Timers | Leases | Commands | LoopHealth | SqlClient

/** The store's layer. Its client is imported on use, so that a workspace on SQLite does not wait for the client of PostgreSQL. */
export const storesIn = (database: Database): Layer.Layer<Stores, MigrationError | SqlError | StoreNotOpened> => {
  if (database._tag === "Sqlite") {
    const { file: filename } = database
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("@detent/durable/SqliteStore")),
        ({ layer }) => layer({ filename }),
      ),
    )
  }
  const { url } = database
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("@detent/durable/PostgresStore")),
      ({ layer }) => layer({ url }),
    ),
  )
}
