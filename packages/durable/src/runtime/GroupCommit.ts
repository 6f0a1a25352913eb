/**
 * Group commit: while one flush is in flight, all other commits that are ready wait for the next flush. There is no artificial
 * delay; with 50 busy instances a flush contains about 50 commits, and one fsync serves all.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Commit, CommitOutcome, JournalService } from "@detent/store"
import { commandsEnqueued, faultsOf } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { commitFailures, commitsStored, eventsStored, flushes } from "./Telemetry.ts"

/** The most commits of a flush. More in one statement gain no throughput and cost latency. */
const flushLimit = 500

/**
 * How many full flushes may be in flight at the same time. Medians of p99 on a busy machine: 1,000 timers due at once
 * were stored in 80 ms with one at a time and 53 ms with two; 20,000 in 638 ms with two and 577 ms with four.
 */
const flightLimit = 4

/**
 * The limit while due timers are being decided: the CPU time of the store and its answers would delay the decisions. Of 20,000
 * due at once, p99 was decided after 122 ms with one, 335 with two, 278 with four, and stored after 495, 569 and 497.
 */
const decidingLimit = 1

/** How many fired timers may wait for the store. Each takes about a kilobyte of memory meanwhile. */
const firedLimit = 25_000

/** A source of commits. It makes its commit only when its flush begins, so that the commit contains all decisions made by then. */
export interface CommitSource {
  takeCommit(): Commit | undefined
  committed(outcome: CommitOutcome | Unconfirmed): void
}

/** The whole flush failed: it is unknown whether the store has stored the commit. */
export interface Unconfirmed {
  readonly _tag: "Unconfirmed"
  readonly error: PersistenceFailed
}

/** The pace at which due timers fire. */
export interface Pace {
  /** Called before the first portion of due timers fires. */
  readonly begin: () => void
  /** Ends when more timers may fire. */
  readonly turn: Effect.Effect<void>
  readonly end: () => void
}

export class GroupCommit {
  readonly #journal: JournalService
  readonly #run: (effect: Effect.Effect<void>) => void
  #waiting: Array<CommitSource> = []
  /** Commits of fired timers: no caller waits for them, and there can be very many. */
  #fired: Array<CommitSource> = []
  #firedUnderway = 0
  #paced: Array<() => void> = []
  /** A flush is about to begin: it takes all commits that are ready when it begins. */
  #gathering = false
  /** The number of flushes in flight. */
  #flights = 0
  #isDeciding = false
  #requested: ((queues: ReadonlySet<string>) => void) | undefined

  constructor(journal: JournalService, run: (effect: Effect.Effect<void>) => void) {
    this.#journal = journal
    this.#run = run
  }

  /** Calls back when commands are stored, with their queues. */
  whenRequested(callback: (queues: ReadonlySet<string>) => void) {
    this.#requested = callback
  }

  get isIdle(): boolean {
    return !this.#gathering && this.#flights === 0 && this.#length === 0
  }

  /** Whether events of fired timers are not stored yet. */
  get isStoringFired(): boolean {
    return this.#fired.length + this.#firedUnderway > 0
  }

  /** The pace at which due timers are decided while the store works on earlier ones. */
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

  /** Adds a source to the next flush. */
  enqueue(source: CommitSource) {
    this.#waiting.push(source)
    this.#gather()
  }

  /** The same for a fired timer. Commits that callers wait for go first. */
  enqueueFired(source: CommitSource) {
    this.#fired.push(source)
    this.#gather()
  }

  get #length(): number {
    return this.#waiting.length + this.#fired.length
  }

  /** While a flush is in flight, another one begins only if it is full, or half full of fired timers. */
  #gather() {
    const limit = this.#isDeciding && this.#fired.length < firedLimit ? decidingLimit : flightLimit
    if (this.#gathering || this.#flights >= limit || this.#length === 0) return
    if (this.#flights > 0 && this.#length < flushLimit && this.#fired.length < flushLimit / 2) return
    this.#gathering = true
    this.#run(this.#flushNext)
  }

  /** Yields first, so that all commits that become ready in the same turn share the flush. */
  readonly #flushNext: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    yield* Effect.yieldNow
    // Half of a flush is kept for timers, so that other events cannot delay them.
    const waiting = this.#waiting.splice(0, flushLimit - Math.min(this.#fired.length, flushLimit / 2))
    const fired = this.#fired.splice(0, flushLimit - waiting.length)
    this.#gathering = false
    this.#makeRoom()
    this.#firedUnderway += fired.length
    const ready: Array<CommitSource> = []
    const commits: Array<Commit> = []
    const thrown: Array<unknown> = []
    for (const one of [...waiting, ...fired]) {
      const commit = takeFrom(one, thrown)
      if (commit === undefined) continue
      ready.push(one)
      commits.push(commit)
    }
    if (thrown.length > 0) yield* Effect.logError(`an instance could not make its commit; its events fail: ${faultsOf(thrown)}`)
    if (ready.length > 0) {
      this.#flights++
      this.#gather()
      const exit = yield* Effect.exit(this.#journal.commit(commits))
      this.#firedUnderway -= fired.length
      yield* this.#notifyAll(ready, commits, exit)
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

  #notifyAll(
    ready: ReadonlyArray<CommitSource>,
    commits: ReadonlyArray<Commit>,
    exit: Exit.Exit<ReadonlyArray<CommitOutcome>, PersistenceFailed>,
  ): Effect.Effect<void> {
    return Effect.suspend(() => {
      const thrown: Array<unknown> = []
      let stored = 0
      let events = 0
      commits.forEach((commit, index) => {
        const outcome = outcomeOf(exit, index, commit)
        notify(ready[index] as CommitSource, outcome, thrown)
        if (outcome._tag !== "Stored") return
        stored++
        events += commit.events.length
      })
      const logged = thrown.length === 0 ? Effect.void : Effect.logError(`an instance failed after its commit: ${faultsOf(thrown)}`)
      if (Exit.isFailure(exit)) return Effect.andThen(logged, Metric.update(commitFailures, 1))
      const counted = Effect.andThen(
        thrown.length === 0 ? Metric.update(flushes, 1) : Effect.andThen(logged, Metric.update(flushes, 1)),
        Effect.andThen(Metric.update(commitsStored, stored), Metric.update(eventsStored, events)),
      )
      return commits.every(({ commands }) => commands.length === 0)
        ? counted
        : Effect.andThen(counted, this.#announceCommands(commits.filter((_, index) => exit.value[index]?._tag === "Stored")))
    })
  }

  #announceCommands(stored: ReadonlyArray<Commit>): Effect.Effect<void> {
    const commands = stored.flatMap((commit) => commit.commands.map(({ queue = commit.machine }) => queue))
    if (commands.length > 0) this.#requested?.(new Set(commands))
    return Metric.update(commandsEnqueued, commands.length)
  }
}

/** A source that cannot make its commit must not keep the others of its flush waiting. */
const takeFrom = (one: CommitSource, thrown: Array<unknown>): Commit | undefined => {
  try {
    return one.takeCommit()
  } catch (cause) {
    thrown.push(cause)
    const error = new PersistenceFailed({ machine: "(unknown)", operation: "commit", cause })
    notify(one, error, thrown)
    return undefined
  }
}

/** A source that throws must not keep the others of its flush from their outcomes. */
const notify = (one: CommitSource, outcome: CommitOutcome | Unconfirmed, thrown: Array<unknown>) => {
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
): CommitOutcome | Unconfirmed => {
  const failed = (cause: unknown): Unconfirmed => ({
    _tag: "Unconfirmed",
    error: new PersistenceFailed({ machine, id, operation: "commit", cause }),
  })
  if (Exit.isFailure(exit)) return failed(Cause.squash(exit.cause))
  return exit.value[index] ?? failed(new Error("the store gave no outcome"))
}
