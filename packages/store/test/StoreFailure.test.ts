/** Clients of users may report a ROLLBACK that failed as a defect: the store still fails as its callers expect. */
import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ConnectionError, SqlError, UniqueViolation } from "effect/sql/SqlError"
import { anyMachine, failingTyped, isContentProblem, persisting } from "../src/sql/StoreFailure.ts"

const refused = new SqlError({ reason: new UniqueViolation({ cause: new Error("twice"), operation: "execute", constraint: "key" }) })
const gone = new SqlError({ reason: new ConnectionError({ cause: new Error("gone"), operation: "execute" }) })

/** A transaction whose ROLLBACK fails, as a client without own handling reports it. */
const spoilt = <A, E>(transaction: Effect.Effect<A, E>) => Effect.onExit(transaction, () => Effect.die(gone))

describe("a transaction that cannot be rolled back", () => {
  it.effect("fails with what had failed in it", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(failingTyped(spoilt(Effect.fail(refused))))
      assert.isTrue(isContentProblem(failure))
      assert.instanceOf(yield* Effect.flip(persisting("commit", anyMachine)(spoilt(Effect.fail(refused)))), PersistenceFailed)
      assert.strictEqual(yield* Effect.flip(failingTyped(spoilt(Effect.void))), gone)
    }),
  )

  it.effect("stays interrupted", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(failingTyped(spoilt(Effect.interrupt)))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }),
  )

  it.effect("does not hide a fault of the program", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(failingTyped(spoilt(Effect.die("a fault"))))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }),
  )
})
