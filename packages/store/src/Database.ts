/** A database by its address: `sqlite:PATH`, or `postgres://USER:PASSWORD@HOST/NAME`. Its driver is imported when it is opened. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Commands } from "./contract/Commands.ts"
import type { Journal } from "./contract/Journal.ts"
import type { JournalReader } from "./contract/JournalReader.ts"
import type { Leases } from "./contract/Leases.ts"
import type { StoreOpenError } from "./contract/StoreNotOpened.ts"
import type { Timers } from "./contract/Timers.ts"
import type { LoopHealth } from "./runtime/BackgroundLoop.ts"

export type Database = { readonly _tag: "Sqlite"; readonly file: string } | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted }

/** Parses an address. Fails with the problem, which repeats nothing of the address: it may contain a password. */
export const databaseAt = (address: string): Result.Result<Database, string> => {
  const scheme = /^([a-z]+):/i.exec(address)?.[1]?.toLowerCase()
  switch (scheme) {
    case "sqlite": {
      const file = address.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "")
      return file === "" ? Result.fail("the address of the SQLite database names no file") : Result.succeed({ _tag: "Sqlite", file })
    }
    case "postgres":
    case "postgresql":
      return URL.canParse(address)
        ? Result.succeed({ _tag: "Postgres", url: Redacted.make(address) })
        : Result.fail("the address of the PostgreSQL database is not a URL")
    case undefined:
      return Result.fail("the address of the database has no scheme")
    default:
      return Result.fail(`the address of the database has the scheme ${scheme}:, which is not supported`)
  }
}

/** The services of a database. */
export type Stores = Journal | Timers | Leases | Commands | LoopHealth | SqlClient

/** Opens the database. A program on SQLite does not wait for the driver of PostgreSQL. */
export const storesIn = (database: Database): Layer.Layer<Stores, StoreOpenError> => {
  if (database._tag === "Sqlite") {
    const { file: filename } = database
    return Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./SqliteStore.ts")),
        ({ layer }) => layer({ filename }),
      ),
    )
  }
  const { url } = database
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./PostgresStore.ts")),
      ({ layer }) => layer({ url }),
    ),
  )
}

/** Opens the database to read its journals in bulk. Creates and changes nothing. */
export const readerIn = (database: Database): Layer.Layer<JournalReader, StoreOpenError> =>
  database._tag === "Sqlite"
    ? Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./SqliteStore.ts")),
          ({ layerReader }) => layerReader(database.file),
        ),
      )
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./PostgresStore.ts")),
          ({ layerReader }) => layerReader({ url: database.url }),
        ),
      )
