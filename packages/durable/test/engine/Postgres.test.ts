import * as Layer from "effect/Layer"
import { DatabaseClock, processTime } from "../../src/postgres/DatabaseClock.ts"
import { engineConformance } from "../../testing/index.ts"
import { postgresSchemaLayer } from "../support/Postgres.ts"

/** These tests advance time by hand. PostgresClock.test.ts shows that leases, timers and claims follow the clock of the server. */
const store = postgresSchemaLayer.pipe(Layer.provide(Layer.succeed(DatabaseClock, processTime)))

engineConformance("PostgreSQL", store, { settle: "3 millis", runs: 3 })
