import * as Layer from "effect/Layer"
import { DatabaseClock, processTime } from "../../src/postgres/DatabaseClock.ts"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"
import { postgresSchemaLayer } from "../support/Postgres.ts"

/** These tests advance time by hand. PostgresClock.test.ts shows that leases, timers and claims follow the clock of the server. */
const store = postgresSchemaLayer.pipe(Layer.provide(Layer.succeed(DatabaseClock, processTime)))

workflowConformance("PostgreSQL", store, { settle: "3 millis" })
