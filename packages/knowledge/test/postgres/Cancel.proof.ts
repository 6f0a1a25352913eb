import * as PgClient from "@detent/durable/PgClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { cancelConformance } from "../batch/crash/cancelConformance.ts"

/** Databases last until the end of this file. */
const scope = Effect.runSync(Scope.make())

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

cancelConformance("PostgreSQL", async () => {
  const address = await Effect.runPromise(Scope.provide(freshDatabase, scope))
  return {
    address,
    statuses: () =>
      Effect.flatMap(PgClient.PgClient, (sql) => sql<{ readonly status: string }>`select status from detent.extraction_runs`).pipe(
        Effect.map((rows) => rows.map(({ status }) => status)),
        Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(address) }))),
        Effect.runPromise,
      ),
  }
})
