import * as Layer from "effect/Layer"
import { DatabaseClock, processTime } from "../../src/postgres/DatabaseClock.ts"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"
import { postgresSchemaLayer } from "../support/Postgres.ts"

/** Most of these tests advance time by hand. */
const store = postgresSchemaLayer.pipe(Layer.provide(Layer.succeed(DatabaseClock, processTime)))

workflowConformance("PostgreSQL", store, { leaseClock: "store", settle: "25 millis" })
