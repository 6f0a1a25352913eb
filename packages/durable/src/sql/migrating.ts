/** Effect SQL reports a migration that fails, and a COMMIT that does, as defects. The caller that opens a store can act on both. */
import * as Effect from "effect/Effect"
import { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlError } from "effect/unstable/sql/SqlError"
import { isSqlError } from "effect/unstable/sql/SqlError"

export const migrating = <A, R>(effect: Effect.Effect<A, MigrationError | SqlError, R>): Effect.Effect<A, MigrationError | SqlError, R> =>
  Effect.catchDefect(effect, (defect) =>
    isSqlError(defect) || defect instanceof MigrationError ? Effect.fail(defect) : Effect.die(defect),
  )
