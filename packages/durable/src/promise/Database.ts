/** The store of an engine, from one address. Its driver is imported when the address asks for it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlError } from "effect/unstable/sql/SqlError"
import * as MemoryStore from "../MemoryStore.ts"
import type { LoopHealth } from "../runtime/BackgroundLoop.ts"
import type { Commands } from "../store/Commands.ts"
import type { Journal } from "../store/Journal.ts"
import type { Leases } from "../store/Leases.ts"
import type { StoreNotOpened } from "../store/StoreNotOpened.ts"
import type { Timers } from "../store/Timers.ts"

/** `sqlite:PATH`, `postgres://USER:PASSWORD@HOST/NAME`, or `memory`, whose data ends with the process. */
export type DatabaseAddress = "memory" | `sqlite:${string}` | `postgres://${string}` | `postgresql://${string}`

/** The address names no database that can be opened. Repeats nothing of the address, which may hold a password. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", { problem: Schema.String }) {
  override get message() {
    return `${this.problem}; use "sqlite:orders.db", "postgres://user@host/orders" or "memory"`
  }
}

export type Stores = Journal | Timers | Leases | Commands | LoopHealth

export const storeAt = (address: string): Layer.Layer<Stores, DatabaseRefused | StoreNotOpened | MigrationError | SqlError> => {
  if (address === "memory") return MemoryStore.layer
  const scheme = /^([a-z]+):/i.exec(address)?.[1]?.toLowerCase()
  switch (scheme) {
    case "sqlite": {
      const filename = address.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "")
      if (filename === "") return refuse("the address of the SQLite database names no file")
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../SqliteStore.ts")),
          ({ layer }) => layer({ filename }),
        ),
      )
    }
    case "postgres":
    case "postgresql": {
      if (!URL.canParse(address)) return refuse("the address of the PostgreSQL database is no URL")
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../PostgresStore.ts")),
          ({ layer }) => layer({ url: address }),
        ),
      )
    }
    case undefined:
      return refuse("the address of the database has no scheme")
    default:
      return refuse(`the address of the database has the scheme ${scheme}:, which is not supported`)
  }
}

const refuse = (problem: string) => Layer.effectContext(Effect.fail(new DatabaseRefused({ problem })))
