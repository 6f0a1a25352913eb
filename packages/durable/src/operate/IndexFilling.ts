/**
 * Fills the indexes of a machine with the values of instances that were stored before. After a machine is registered, its instances are
 * replayed in the background, page by page with pauses, without bringing them into memory, and their values are stored where they differ.
 * The store keeps how far the fill is, so that the next process resumes there after a crash. Several processes share it: each page is
 * counted once.
 *
 * A process fills the indexes of its own definition only. It begins a fill once, when it finds another definition in the store; when a
 * newer process has begun another, it stops.
 */
import { EventReplayError, InstanceNotFound, type PersistenceFailed } from "@detent/machine"
import { forkLoop, type IndexFill, type InstanceKey, type JournalService, type OpenedInstance } from "@detent/store"
import { monotonicMillis } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { EngineParts } from "../engine/EngineParts.ts"
import { prefetchEvents } from "../live/prefetchEvents.ts"
import type { IndexedValues } from "../machine/IndexedValues.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { recover } from "../machine/Replay.ts"

/** How far the indexes of a machine are filled. */
export interface IndexProgress {
  /** How many stored instances were read. */
  readonly filled: number
  readonly isComplete: boolean
}

/** How often newly registered machines are looked for. */
const intervalMillis = 1000

/** One page is in memory at a time. */
const pageSize = 200

/** The pause after a page: as long as the page took, so that commits have at least half of the time. */
const pauseFactor = 1

/** How often an instance is read again that changes while it is read. It writes its values itself with its next change. */
const attempts = 5

export const startIndexFilling = (engine: EngineParts): Effect.Effect<void, never, Scope.Scope> => {
  /** Machines with nothing more to fill here, by their indexes. */
  const done = new Set<IndexedValues>()
  const begun = new Set<IndexedValues>()
  const turn = Effect.suspend(() => {
    const waiting = engine.registry.all.filter(({ indexes }) => indexes !== undefined && !done.has(indexes))
    return Effect.forEach(waiting, (machine) => fillMachine(engine, machine, begun, done), { discard: true })
  })
  return Effect.asVoid(forkLoop("the fill of indexes", Effect.andThen(turn, Effect.sleep(intervalMillis))))
}

const fillMachine = (
  { journal }: EngineParts,
  machine: RegisteredMachine,
  begun: Set<IndexedValues>,
  done: Set<IndexedValues>,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    const { indexes, name } = machine
    if (indexes === undefined) return
    const { definition } = indexes
    for (;;) {
      const seen = Option.getOrUndefined(yield* journal.indexFill(name))
      if (seen?.definition !== definition) {
        if (begun.has(indexes)) break
        begun.add(indexes)
        yield* journal.setIndexFill(name, seen, { definition, through: undefined, filled: 0, isComplete: false })
        continue
      }
      begun.add(indexes)
      if (seen.isComplete) break
      const began = monotonicMillis(machine.environment.clock)
      yield* fillPage(journal, machine, indexes, seen)
      yield* Effect.sleep(pauseFactor * (monotonicMillis(machine.environment.clock) - began))
    }
    done.add(indexes)
  })

const fillPage = (journal: JournalService, machine: RegisteredMachine, indexes: IndexedValues, seen: IndexFill) =>
  Effect.gen(function* () {
    const page = yield* journal.page({ machine: machine.name }, pageSize, seen.through)
    let waiting: ReadonlyArray<InstanceKey> = page
    for (let attempt = 0; waiting.length > 0 && attempt < attempts; attempt++) {
      const missed = yield* fillInstances(journal, machine, indexes, waiting)
      waiting = missed.map((id) => ({ machine: machine.name, id }))
    }
    const last = page.at(-1)?.id ?? seen.through
    const isComplete = page.length < pageSize
    yield* journal.setIndexFill(machine.name, seen, { ...seen, through: last, filled: seen.filled + page.length, isComplete })
  })

/** Returns the ids of those that have changed while they were read. */
const fillInstances = (
  journal: JournalService,
  machine: RegisteredMachine,
  indexes: IndexedValues,
  keys: ReadonlyArray<InstanceKey>,
): Effect.Effect<ReadonlyArray<string>, PersistenceFailed> =>
  Effect.gen(function* () {
    const opened = yield* journal.openAll(keys.map(({ id }) => ({ machine: machine.name, id })))
    const { journal: prefetched } = yield* prefetchEvents(journal, opened)
    const writes = yield* Effect.forEach(opened, (one) =>
      Effect.gen(function* () {
        const fields = yield* fieldsOf(prefetched, machine, indexes, one)
        yield* Effect.yieldNow
        const { id, startedAt, sequence, revision = 0 } = one.record
        return fields === undefined || fields === one.record.fields ? [] : [{ id, startedAt, sequence, revision, fields }]
      }),
    )
    return yield* journal.writeFields(machine.name, writes.flat())
  })

/** Undefined where the instance does not replay: it gets its values when it is repaired. */
const fieldsOf = (
  journal: JournalService,
  machine: RegisteredMachine,
  indexes: IndexedValues,
  opened: OpenedInstance,
): Effect.Effect<string | undefined, PersistenceFailed> =>
  recover(machine, journal, opened, opened.record.sequence).pipe(
    Effect.map(({ state }): string | undefined => indexes.encode(state)),
    Effect.catch((error) =>
      error instanceof EventReplayError || error instanceof InstanceNotFound ? Effect.succeed(undefined) : Effect.fail(error),
    ),
  )

/** Stores the values of one instance after a repair, which changes the state without a commit. */
export const refreshValues = (journal: JournalService, machine: RegisteredMachine, id: string): Effect.Effect<void, PersistenceFailed> =>
  machine.indexes === undefined
    ? Effect.void
    : Effect.asVoid(fillInstances(journal, machine, machine.indexes, [{ machine: machine.name, id }]))

/** How far the indexes of this definition are filled. */
export const indexProgress = (
  journal: JournalService,
  machine: string,
  indexes: IndexedValues,
): Effect.Effect<IndexProgress, PersistenceFailed> =>
  Effect.map(journal.indexFill(machine), (fill) => {
    if (Option.isNone(fill) || fill.value.definition !== indexes.definition) return { filled: 0, isComplete: false }
    const { filled, isComplete } = fill.value
    return { filled, isComplete }
  })
