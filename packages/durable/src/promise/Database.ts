/** The store of an engine for async code, from one address. */

import type { StoreOpenError } from "@detent/store"
import { MemoryStore } from "@detent/store"
import { type Stores as DatabaseStores, databaseAt, storesIn } from "@detent/store/Database"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"

/** `sqlite:PATH`, `postgres://USER:PASSWORD@HOST/NAME`, or `memory`, whose data ends with the process. */
export type DatabaseAddress = "memory" | `sqlite:${string}` | `postgres://${string}` | `postgresql://${string}`

/** The address names no database that can be opened. The message does not repeat the address, which may contain a password. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", { problem: Schema.String }) {
  override get message() {
    return `${this.problem}; use "sqlite:orders.db", "postgres://user@host/orders" or "memory"`
  }
}

/** The services of every store. */
export type Stores = Exclude<DatabaseStores, SqlClient>

export const storeAt = (address: string): Layer.Layer<Stores, DatabaseRefused | StoreOpenError> => {
  if (address === "memory") return MemoryStore.layer
  return Result.match(databaseAt(address), {
    onFailure: (problem) => Layer.effectContext(Effect.fail(new DatabaseRefused({ problem }))),
    onSuccess: storesIn,
  })
}
