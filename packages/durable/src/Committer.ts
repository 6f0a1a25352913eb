/**
 * Group commit: while one flush is on its way, everybody else who is ready gathers for the next. There is no artificial
 * delay; with 50 busy instances a flush carries about 50 of them, and one fsync serves all.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type { Commit, CommitOutcome } from "./Commit.ts"
import { commitFailures, commitsStored, eventsStored, flushes } from "./EngineMetrics.ts"
import type { JournalService } from "./Journal.ts"

/** More than this in one statement gains no throughput and costs latency. */
const flushLimit = 500

/** Someone with something to commit. It is asked what only when its flush begins, so that it can bring all it has by then. */
export interface Committing {
  takeCommit(): Commit | undefined
  committed(outcome: CommitOutcome | Doubtful): void
}

/** The store failed as a whole, and did not say whether it had stored before. */
export interface Doubtful {
  readonly _tag: "Doubtful"
  readonly error: PersistenceFailed
}

export class Committer {
  readonly #journal: JournalService
  readonly #run: (effect: Effect.Effect<void>) => void
  #waiting: Array<Committing> = []
  #flushing = false

  constructor(journal: JournalService, run: (effect: Effect.Effect<void>) => void) {
    this.#journal = journal
    this.#run = run
  }

  get isIdle(): boolean {
    return !this.#flushing && this.#waiting.length === 0
  }

  /** Puts someone in line for the next flush. */
  enqueue(committing: Committing) {
    this.#waiting.push(committing)
    if (this.#flushing) return
    this.#flushing = true
    this.#run(this.#flushAll)
  }

  /** The first turn is given to others, so that all who are ready in it share the flush. */
  readonly #flushAll: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.#waiting.length > 0) {
      yield* Effect.yieldNow
      const taken = this.#waiting.splice(0, flushLimit)
      const ready = taken
        .map((one) => [one, one.takeCommit()] as const)
        .filter((pair): pair is readonly [Committing, Commit] => pair[1] !== undefined)
      if (ready.length > 0) yield* this.#flush(ready)
    }
    this.#flushing = false
  })

  #flush(ready: ReadonlyArray<readonly [Committing, Commit]>): Effect.Effect<void> {
    const commits = ready.map(([, commit]) => commit)
    return Effect.flatMap(Effect.exit(this.#journal.commit(commits)), (exit) => {
      const thrown = ready.flatMap(([one, commit], index) => tell(one, outcomeOf(exit, index, commit)))
      if (thrown.length > 0) return Effect.logError("an instance could not go on after its commit", ...thrown)
      if (Exit.isFailure(exit)) return Metric.update(commitFailures, 1)
      const stored = exit.value.filter((outcome) => outcome._tag === "Stored").length
      const events = commits.reduce((sum, commit, index) => sum + (exit.value[index]?._tag === "Stored" ? commit.events.length : 0), 0)
      return Effect.andThen(
        Metric.update(flushes, 1),
        Effect.andThen(Metric.update(commitsStored, stored), Metric.update(eventsStored, events)),
      )
    })
  }
}

/** What goes wrong in one must not keep the others of its flush waiting. */
const tell = (one: Committing, outcome: CommitOutcome | Doubtful): ReadonlyArray<unknown> => {
  try {
    one.committed(outcome)
    return []
  } catch (cause) {
    return [cause]
  }
}

const outcomeOf = (
  exit: Exit.Exit<ReadonlyArray<CommitOutcome>, PersistenceFailed>,
  index: number,
  { machine, id }: Commit,
): CommitOutcome | Doubtful => {
  const failed = (cause: unknown): Doubtful => ({
    _tag: "Doubtful",
    error: new PersistenceFailed({ machine, id, operation: "commit", cause }),
  })
  if (Exit.isFailure(exit)) return failed(Cause.squash(exit.cause))
  return exit.value[index] ?? failed(new Error("the store gave no outcome"))
}
