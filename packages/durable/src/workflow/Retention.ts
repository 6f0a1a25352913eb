/** Removes the journals of executions that have ended, after their retention. Their results stay. */
import type { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { InstanceCursor, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { encodeSnapshot, isEnded, type Phase } from "./ExecutionState.ts"
import { readResult } from "./Reading.ts"

const pageSize = 500

/**
 * One pass over executions that ended longer ago than the retention, and the pause until the next pass. Each pass continues where the last
 * one ended.
 */
export const pruneTurn = (
  journal: JournalService,
  machines: () => ReadonlyArray<string>,
  retentionMillis: number,
  intervalMillis: number,
): Effect.Effect<void, PersistenceFailed> => {
  const cursors = new Map<string, InstanceCursor>()
  return Effect.gen(function* () {
    for (const machine of machines()) yield* pruneOld(journal, machine, retentionMillis, cursors)
    yield* Effect.sleep(intervalMillis)
  })
}

const pruneOld = (journal: JournalService, machine: string, retentionMillis: number, cursors: Map<string, InstanceCursor>) =>
  Effect.gen(function* () {
    const updatedBefore = (yield* Clock.currentTimeMillis) - retentionMillis
    for (;;) {
      const filter = { machine, status: "final", owes: false, updatedBefore } as const
      const { instances, next } = yield* journal.list(filter, pageSize, cursors.get(machine))
      const opened = yield* journal.openAll(instances)
      yield* Effect.forEach(opened, (one) => pruneUnlessBroken(journal, one), { concurrency: 8, discard: true })
      const last = instances.at(-1)
      if (last !== undefined) cursors.set(machine, { updatedAt: last.updatedAt, machine, id: last.id })
      if (next === undefined) return
    }
  })

/** Removes the journal of one execution that has ended and keeps its result. Returns how many events it removed. */
export const pruneExecution = (journal: JournalService, key: InstanceKey): Effect.Effect<number, PersistenceFailed> =>
  Effect.flatMap(
    journal.open(key),
    Option.match({ onNone: () => Effect.succeed(0), onSome: (opened) => pruneUnlessBroken(journal, opened) }),
  )

/** An execution whose result cannot be read keeps its journal; the others are pruned. */
const pruneUnlessBroken = (journal: JournalService, opened: OpenedInstance): Effect.Effect<number, PersistenceFailed> =>
  Effect.catchTag(pruneOpened(journal, opened), "EventReplayError", (problem) => Effect.as(Effect.logError(problem.message), 0))

const pruneOpened = (journal: JournalService, opened: OpenedInstance): Effect.Effect<number, PersistenceFailed | EventReplayError> =>
  Effect.gen(function* () {
    const { record, snapshot } = opened
    if (!isEnded(record.tag as Phase) || record.owes || snapshot !== undefined) return 0
    const { sequence, updatedAt: at } = record
    const result = yield* readResult(journal, opened)
    yield* journal.saveSnapshot(record, { sequence, at, version: 1, body: encodeSnapshot(result) })
    return yield* journal.prune(record, sequence)
  })
