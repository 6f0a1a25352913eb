import { Engine, MemoryStore } from "@detent/durable"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Layer from "effect/Layer"

// #region stores
export const embedded = Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename: "data/orders.db" })))
export const shared = Engine.layer().pipe(Layer.provide(PostgresStore.layer({ url: "postgres://user@host/orders" })))
export const forTests = Engine.layer().pipe(Layer.provide(MemoryStore.layer))
// #endregion stores
