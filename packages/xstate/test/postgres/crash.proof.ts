import type { DatabaseAddress } from "@detent/durable/promise"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { killedEndsAsUndisturbed } from "../crash/killing.ts"

it.live("40 scenarios on PostgreSQL that are killed with SIGKILL at every step end as undisturbed ones do", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const [undisturbed, killed] = yield* Effect.all([freshDatabase, freshDatabase])
      const databases = { undisturbed: undisturbed as DatabaseAddress, killed: killed as DatabaseAddress }
      yield* Effect.promise(() => killedEndsAsUndisturbed(() => databases, ["first", "all"]))
    }),
  ),
)
