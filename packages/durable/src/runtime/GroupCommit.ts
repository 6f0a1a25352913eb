/**
 * Group commit: while one flush is on its way, everybody else who is ready gathers for the next. There is no artificial
 * delay; with 50 busy instances a flush carries about 50 of them, and one fsync serves all.
 */
import { PersistenceFailed } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { commandsEnqueued } from "../command/CommandMetrics.ts"
import { commitFailures, commitsStored, eventsStored, flushes } from "../engine/EngineMetrics.ts"
import type { Pace } from "../engine/TimerHeap.ts"
import type { Commit, CommitOutcome } from "../store/Commit.ts"
import type { JournalService } from "../store/Journal.ts"

/** More than this in one statement gains no throughput and costs latency. */
const flushLimit = 500

/**
 * While the store works on a full flush, more of them are made. Medians of p99 on a busy machine: 1,000 timers due at once
 * were stored in 80 ms with one at a time and 53 ms with two; 20,000 in 638 ms with two and 577 ms with four.
 */
const flightLimit = 4

/**
 * While timers that are due are decided on, fewer: what the store and its answers take of the CPU is missing there. Of 20,000
 * due at once, p99 was decided after 122 ms with one, 335 with two, 278 with four, and stored after 495, 569 and 497.
 */
const decidingLimit = 1

/** So many fired timers may be decided on and wait for the store. Each takes about a kilobyte of memory meanwhile. */
const firedLimit = 25_000

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

export class GroupCommit {
  readonly #journal: JournalService
  readonly #run: (effect: Effect.Effect<void>) => void
  #waiting: Array<Committing> = []
  /** What timers led to: nobody waits for it, and there can be very many. */
  #fired: Array<Committing> = []
  #firedUnderway = 0
  #paced: Array<() => void> = []
  /** A flush is about to begin: it takes whoever is ready by then. */
  #gathering = false
  /** Flushes on their way to the store. */
  #flights = 0
  #isDeciding = false
  #requested: ((queues: ReadonlySet<string>) => void) | undefined

  constructor(journal: JournalService, run: (effect: Effect.Effect<void>) => void) {
    this.#journal = journal
    this.#run = run
  }

  /** Calls back whenever commands are stored, with the queues they wait in. */
  whenRequested(callback: (queues: ReadonlySet<string>) => void) {
    this.#requested = callback
  }

  get isIdle(): boolean {
    return !this.#gathering && this.#flights === 0 && this.#length === 0
  }

  /** What timers led to is not stored yet. */
  get isStoringFired(): boolean {
    return this.#fired.length + this.#firedUnderway > 0
  }

  /** For timers that are due: how they are decided on while the store is at work on others. */
  readonly pace: Pace = {
    begin: () => {
      this.#isDeciding = true
    },
    turn: Effect.callback<void>((resume) => {
      if (this.#fired.length < firedLimit) resume(Effect.void)
      else this.#paced.push(() => resume(Effect.void))
    }),
    end: () => {
      this.#isDeciding = false
      this.#gather()
    },
  }

  /** Puts someone in line for the next flush. */
  enqueue(committing: Committing) {
    this.#waiting.push(committing)
    this.#gather()
  }

  /** The same for what a timer led to: whoever is waited for goes first. */
  enqueueFired(committing: Committing) {
    this.#fired.push(committing)
    this.#gather()
  }

  get #length(): number {
    return this.#waiting.length + this.#fired.length
  }

  /** Next to one that is on its way, another flush begins only if it is full, or half full of what timers led to. */
  #gather() {
    const limit = this.#isDeciding && this.#fired.length < firedLimit ? decidingLimit : flightLimit
    if (this.#gathering || this.#flights >= limit || this.#length === 0) return
    if (this.#flights > 0 && this.#length < flushLimit && this.#fired.length < flushLimit / 2) return
    this.#gathering = true
    this.#run(this.#flushNext)
  }

  /** The first turn is given to others, so that all who are ready in it share the flush. */
  readonly #flushNext: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    yield* Effect.yieldNow
    // Half of a flush is kept for timers, so that they get their turn however many others come.
    const waiting = this.#waiting.splice(0, flushLimit - Math.min(this.#fired.length, flushLimit / 2))
    const fired = this.#fired.splice(0, flushLimit - waiting.length)
    this.#gathering = false
    this.#makeRoom()
    this.#firedUnderway += fired.length
    const ready: Array<Committing> = []
    const commits: Array<Commit> = []
    for (const one of [...waiting, ...fired]) {
      const commit = one.takeCommit()
      if (commit === undefined) continue
      ready.push(one)
      commits.push(commit)
    }
    if (ready.length > 0) {
      this.#flights++
      this.#gather()
      const exit = yield* Effect.exit(this.#journal.commit(commits))
      this.#firedUnderway -= fired.length
      yield* this.#tellAll(ready, commits, exit)
      this.#flights--
    } else this.#firedUnderway -= fired.length
    this.#gather()
  })

  #makeRoom() {
    if (this.#paced.length === 0 || this.#fired.length >= firedLimit) return
    const paced = this.#paced
    this.#paced = []
    for (const resume of paced) resume()
  }

  #tellAll(
    ready: ReadonlyArray<Committing>,
    commits: ReadonlyArray<Commit>,
    exit: Exit.Exit<ReadonlyArray<CommitOutcome>, PersistenceFailed>,
  ): Effect.Effect<void> {
    return Effect.suspend(() => {
      const thrown: Array<unknown> = []
      let stored = 0
      let events = 0
      commits.forEach((commit, index) => {
        const outcome = outcomeOf(exit, index, commit)
        tell(ready[index] as Committing, outcome, thrown)
        if (outcome._tag !== "Stored") return
        stored++
        events += commit.events.length
      })
      if (thrown.length > 0) return Effect.logError("an instance could not go on after its commit", ...thrown)
      if (Exit.isFailure(exit)) return Metric.update(commitFailures, 1)
      const counted = Effect.andThen(
        Metric.update(flushes, 1),
        Effect.andThen(Metric.update(commitsStored, stored), Metric.update(eventsStored, events)),
      )
      return commits.every(({ commands }) => commands.length === 0)
        ? counted
        : Effect.andThen(counted, this.#tellRequested(commits.filter((_, index) => exit.value[index]?._tag === "Stored")))
    })
  }

  #tellRequested(stored: ReadonlyArray<Commit>): Effect.Effect<void> {
    const commands = stored.flatMap((commit) => commit.commands.map(({ queue = commit.machine }) => queue))
    if (commands.length > 0) this.#requested?.(new Set(commands))
    return Metric.update(commandsEnqueued, commands.length)
  }
}

/** What goes wrong in one must not keep the others of its flush waiting. */
const tell = (one: Committing, outcome: CommitOutcome | Doubtful, thrown: Array<unknown>) => {
  try {
    one.committed(outcome)
  } catch (cause) {
    thrown.push(cause)
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
