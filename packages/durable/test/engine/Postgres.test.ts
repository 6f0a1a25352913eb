import { DatabaseClock, processTime } from "@detent/store/internal"
import * as Layer from "effect/Layer"
import { postgresSchemaLayer } from "../../../store/test/support/Postgres.ts"
import { engineConformance } from "../../testing/index.ts"

/** These tests advance time by hand. PostgresClock.test.ts shows that leases, timers and claims follow the clock of the server. */
const store = postgresSchemaLayer.pipe(Layer.provide(Layer.succeed(DatabaseClock, processTime)))

engineConformance("PostgreSQL", store, { settle: "3 millis", runs: 3 })
