/** What the conformance kit needs to reach behind a store. A rule whose hook is missing is not tested. */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { InstanceKey } from "../src/contract/Commit.ts"
import type { Journal } from "../src/contract/Journal.ts"
import type { Leases } from "../src/contract/Leases.ts"
import type { Timers } from "../src/contract/Timers.ts"

/** A store under test; `R` is what its hooks need besides, such as its SQL client. */
export type StoreLayer<R> = Layer.Layer<Journal | Timers | Leases | R, unknown>

/** The parts of a commit that are written to tables of their own. */
export type Part = "events" | "snapshots" | "timers" | "commands"

export interface StoreHooks<R> {
  /** Puts something into the row of an instance that no store would write. */
  readonly corruptInstance?: (key: InstanceKey) => Effect.Effect<unknown, unknown, R>
  /** Lets every write to one part fail until the scope ends. */
  readonly sabotage?: (part: Part) => Effect.Effect<unknown, unknown, R | Scope.Scope>
  /** The keys of an instance's stored commands, in order. */
  readonly commandKeys?: (key: InstanceKey) => Effect.Effect<ReadonlyArray<string>, unknown, R>
}
