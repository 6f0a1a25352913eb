/**
 * Starts many instances together. Instances without work to do in their first state are only stored, in few statements, and never
 * enter memory: of 20,000 on SQLite, each costs 21 to 30 µs of CPU in calls of 2,000, against 52 to 67 µs with `start`, 1,000 at
 * once.
 *
 * The caller's fiber stores them, not the engine's own flushes. Inside `sql.withTransaction` they are part of that
 * transaction, so that they are stored together with the caller's own rows, or not at all.
 */
import { type Beginning, InvalidState, PersistenceFailed } from "@detent/machine"
import { firstState, identified, type Node, type Tagged } from "@detent/machine/internal"
import type { Commit, CommitOutcome } from "@detent/store"
import { instanceName, retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Result from "effect/Result"
import type { EngineParts } from "../engine/EngineParts.ts"
import { InstanceExists, invalidId } from "../errors.ts"
import type { StartError } from "../live/InstanceTable.ts"
import { CurrentActor, storedActor } from "../machine/Actor.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { isOurs, newInstanceCommit } from "../machine/NewInstance.ts"
import { commitsStored, flushes } from "../runtime/Telemetry.ts"

/** An instance to be started. */
export interface StartEntry<out Input> {
  readonly id: string
  readonly input: Input
}

/** The state an instance began in, or why it was not started. */
export type Started<S> = Result.Result<S, StartError>

/** The most instances of one statement. More gain no throughput. */
const statementLimit = 1000

/** How many instances with work to do are started at a time. */
const concurrency = 100

export const startAll = (
  engine: EngineParts,
  registered: RegisteredMachine,
  entries: Iterable<StartEntry<unknown>>,
): Effect.Effect<ReadonlyArray<Started<Tagged>>, PersistenceFailed> =>
  Effect.gen(function* () {
    const at = Math.floor(yield* registered.environment.clock.currentTimeMillis)
    const by = storedActor(yield* CurrentActor)
    const joined = yield* Effect.withFiber((fiber) => Effect.succeed(engine.transactions.isInside(fiber)))
    const given = [...entries]
    const started: Array<Started<Tagged>> = []
    const resting: Array<Resting> = []
    const busy: Array<Position> = []
    for (const [position, { id, input }] of given.entries()) {
      const invalid = invalidId(registered.name, id)
      if (invalid !== undefined) {
        started[position] = Result.fail(invalid)
        continue
      }
      if (engine.table.isClosed) {
        started[position] = Result.fail(engine.table.stoppedError({ machine: registered.name, id }))
        continue
      }
      const beginning = firstState(registered.compiled, input, at)
      if (beginning._tag === "Refused") started[position] = Result.fail(identified(beginning.error, id))
      else if (rests(registered, beginning)) {
        const commit = newInstanceCommit(engine.context, registered, id, beginning, at, { by })
        if (commit instanceof InvalidState) started[position] = Result.fail(commit)
        // Nothing of the instance runs here, so any node may store it, even one that has lost its lease.
        else
          resting.push({ position, state: beginning.state, commit: commit.fence === undefined ? commit : { ...commit, fence: undefined } })
      } else if (joined) started[position] = Result.fail(workInTransaction(registered, id))
      else busy.push({ position, id, input })
    }
    for (const some of batchesOf(resting)) {
      const outcomes = yield* joined ? engine.journal.commit(some.map(({ commit }) => commit)) : storeConfirmed(engine, some)
      for (const [index, { position, state, commit }] of some.entries()) {
        started[position] = resultOf(outcomes[index], state, commit)
        if (outcomes[index]?._tag === "Stored" && !joined) leaveFormer(engine, commit)
      }
      yield* Metric.update(flushes, 1)
      yield* Metric.update(commitsStored, outcomes.filter((outcome) => outcome?._tag === "Stored").length)
    }
    yield* Effect.forEach(
      busy,
      ({ position, id, input }) =>
        Effect.map(Effect.result(engine.begin(registered, id, input)), (result) => {
          started[position] = result
        }),
      { concurrency, discard: true },
    )
    return started
  })

interface Resting {
  readonly position: number
  readonly state: Tagged
  readonly commit: Commit
}

interface Position extends StartEntry<unknown> {
  readonly position: number
}

/** Whether the instance has no work to do once it is stored. */
const rests = (machine: RegisteredMachine, { state, hooks, sends, requests, timers, delays }: Beginning<Tagged, Tagged>): boolean => {
  const node = machine.compiled.nodes.get(state._tag) as Node
  const isIdle = node.final || (!machine.hasWork(node, state) && timers.length === 0 && delays.length === 0)
  return isIdle && hooks.length === 0 && sends.length === 0 && requests.length === 0
}

/** Splits instances into statements. The same id twice goes into two: the second start fails, because the instance exists. */
const batchesOf = (resting: ReadonlyArray<Resting>): ReadonlyArray<ReadonlyArray<Resting>> => {
  const batches: Array<Array<Resting>> = []
  let ids = new Set<string>()
  for (const one of resting) {
    const { id } = one.commit
    const last = batches.at(-1)
    if (last === undefined || last.length === statementLimit || ids.has(id)) {
      batches.push([one])
      ids = new Set([id])
    } else {
      last.push(one)
      ids.add(id)
    }
  }
  return batches
}

/** Stores the commits. If the store does not confirm them, reads the journal. */
const storeConfirmed = (
  engine: EngineParts,
  some: ReadonlyArray<Resting>,
): Effect.Effect<ReadonlyArray<CommitOutcome | undefined>, PersistenceFailed> => {
  const commits = some.map(({ commit }) => commit)
  let isUnconfirmed = false
  const attempt = Effect.gen(function* () {
    const outcomes = yield* Effect.tapError(engine.journal.commit(commits), () =>
      Effect.sync(() => {
        isUnconfirmed = true
      }),
    )
    const conflicting = commits.filter((_, index) => outcomes[index]?._tag === "Conflict")
    if (!isUnconfirmed || conflicting.length === 0) return outcomes
    // An attempt that was not confirmed may have been stored before this one.
    const opened = yield* engine.journal.openAll(conflicting)
    const found = new Map(opened.map((one) => [instanceName(one.record), one]))
    return commits.map((commit, index): CommitOutcome | undefined => {
      const one = found.get(instanceName(commit))
      return one !== undefined && isOurs(commit, one) ? { _tag: "Stored" } : outcomes[index]
    })
  })
  return retryFailed(attempt, { schedule: engine.context.storeRetry })
}

const resultOf = (outcome: CommitOutcome | undefined, state: Tagged, { machine, id }: Commit): Started<Tagged> => {
  if (outcome === undefined) {
    return Result.fail(new PersistenceFailed({ machine, id, operation: "startAll", cause: new Error("the store gave no outcome") }))
  }
  if (outcome._tag === "Stored") return Result.succeed(state)
  return Result.fail(outcome._tag === "PersistenceFailed" ? outcome : new InstanceExists({ machine, id }))
}

/** Another process had removed an instance of this id: it must no longer be found in memory. */
const leaveFormer = ({ table }: EngineParts, commit: Commit) => {
  const live = table.find(commit)
  if (live !== undefined && live.record.startedAt !== commit.at) live.leaveRemoved()
}

const workInTransaction = ({ name }: RegisteredMachine, id: string): PersistenceFailed =>
  new PersistenceFailed({
    machine: name,
    id,
    operation: "startAll",
    cause: new Error("it has work to do once it is stored, which cannot begin inside a transaction; start it after the transaction"),
  })
