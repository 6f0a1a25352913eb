import * as Layer from "effect/Layer"
import { DatabaseClock, processTime } from "../../src/postgres/DatabaseClock.ts"
import { engineConformance } from "../../testing/index.ts"
import { postgresSchemaLayer } from "../support/Postgres.ts"

/** Most of these tests advance time by hand. */
const store = postgresSchemaLayer.pipe(Layer.provide(Layer.succeed(DatabaseClock, processTime)))

engineConformance("PostgreSQL", store, { leaseClock: "store", settle: "25 millis", runs: 3 })
