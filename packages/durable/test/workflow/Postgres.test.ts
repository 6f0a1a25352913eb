import { randomBytes } from "node:crypto"
import * as Layer from "effect/Layer"
import { inject } from "vitest"
import * as PostgresStore from "../../src/PostgresStore.ts"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"

/** Tables of its own for every test, in one database: making a database takes ten times as long. */
const store = Layer.suspend(() =>
  PostgresStore.layer({ url: inject("postgresUrl"), schema: `workflow_${randomBytes(8).toString("hex")}`, maxConnections: 4 }),
)

workflowConformance("PostgreSQL", store, { leaseClock: "store", settle: "25 millis" })
