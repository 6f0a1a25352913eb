/** An address of a database of its own, for each kind of database. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { onTestFinished } from "vitest"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import type { DatabaseAddress } from "../../src/promise.ts"

export const kinds = ["memory", "SQLite", "PostgreSQL"] as const

/** Removed when the test ends. */
export const freshAddress = async (kind: (typeof kinds)[number]): Promise<DatabaseAddress> => {
  if (kind === "memory") return "memory"
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return kind === "SQLite"
    ? `sqlite:${await Effect.runPromise(Scope.provide(freshFile, scope))}`
    : ((await Effect.runPromise(Scope.provide(Effect.orDie(freshDatabase), scope))) as DatabaseAddress)
}
