/**
 * The listing: a side table by which instances are listed and counted. It has the indexes that the table of instances cannot have without
 * making every commit more expensive: by time of change, state and status, and a table of counts by state.
 *
 * A transaction that changes instances appends one row with their numbers to `moves`: about 0.1 µs for each commit of a flush. Folding
 * takes those rows and brings the listing up to date with the instances they name, each once, however often it has changed. Every read of
 * the listing folds first, so that it is exact; a process that stores commits also folds periodically, so that `moves` stays short.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { forkLoop } from "../runtime/BackgroundLoop.ts"

/**
 * A step takes whole rows of `moves` until they name this many instances; one row names the instances of one flush. A step is one
 * transaction: it must not block commits for long, nor, on SQLite, the thread.
 */
export const foldInstances = 2_000

/** The most rows of `moves` that one step reads. */
export const foldRows = 2_000

/** How long changes wait for a reader before they are folded anyway. */
const foldMillis = 10_000

export interface Listing {
  /** Brings the listing up to date. */
  readonly fold: Effect.Effect<void, SqlError>
  /** Called after this process has stored a commit. */
  readonly changed: () => void
}

/** `step` folds the first rows of `moves`, and returns whether it took as many as one step may: then there may be more. */
export const makeListing = (step: Effect.Effect<boolean, SqlError>): Effect.Effect<Listing, never, Scope.Scope> =>
  Effect.gen(function* () {
    const stored = Latch.makeUnsafe(false)
    const fold: Effect.Effect<void, SqlError> = Effect.flatMap(step, (mayBeMore) => (mayBeMore ? fold : Effect.void))
    const turn = Effect.andThen(
      stored.await,
      Effect.andThen(
        Effect.sleep(foldMillis),
        Effect.suspend(() => {
          stored.closeUnsafe()
          return fold
        }),
      ),
    )
    yield* forkLoop("the listing of instances", turn)
    return { fold, changed: () => stored.openUnsafe() }
  })
