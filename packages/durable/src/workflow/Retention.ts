/** What becomes of executions that have ended: after a while only their result is kept. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceKey } from "../store/Commit.ts"
import type { InstanceCursor, JournalService, OpenedInstance } from "../store/Journal.ts"
import { encodeSnapshot, isEnded, type Phase } from "./ExecutionState.ts"
import { readResult } from "./Reading.ts"

const pageSize = 500

/** Prunes again and again what ended longer ago than that. Each pass goes on where the last one stopped. */
export const pruneForever = (
  journal: JournalService,
  machines: () => ReadonlyArray<string>,
  retentionMillis: number,
  intervalMillis: number,
): Effect.Effect<never> =>
  Effect.gen(function* () {
    const cursors = new Map<string, InstanceCursor>()
    for (;;) {
      for (const machine of machines()) {
        yield* Effect.catch(pruneOld(journal, machine, retentionMillis, cursors), (error) =>
          Effect.logWarning(`ended executions of ${machine} could not be pruned`, error.message),
        )
      }
      yield* Effect.sleep(intervalMillis)
    }
  })

const pruneOld = (journal: JournalService, machine: string, retentionMillis: number, cursors: Map<string, InstanceCursor>) =>
  Effect.gen(function* () {
    const updatedBefore = (yield* Clock.currentTimeMillis) - retentionMillis
    for (;;) {
      // One whose parents have not been told yet is not over.
      const filter = { machine, status: "final", resident: false, updatedBefore } as const
      const { instances, next } = yield* journal.list(filter, pageSize, cursors.get(machine))
      const opened = yield* journal.openAll(instances)
      yield* Effect.forEach(opened, (one) => pruneOpened(journal, one), { concurrency: 8, discard: true })
      const last = instances.at(-1)
      if (last !== undefined) cursors.set(machine, { updatedAt: last.updatedAt, machine, id: last.id })
      if (next === undefined) return
    }
  })

/** Removes the journal of one execution that has ended and keeps its result; how many events went. */
export const pruneExecution = (journal: JournalService, key: InstanceKey): Effect.Effect<number, PersistenceFailed> =>
  Effect.flatMap(journal.open(key), Option.match({ onNone: () => Effect.succeed(0), onSome: (opened) => pruneOpened(journal, opened) }))

const pruneOpened = (journal: JournalService, opened: OpenedInstance): Effect.Effect<number, PersistenceFailed> =>
  Effect.gen(function* () {
    const { record, snapshot } = opened
    if (!isEnded(record.tag as Phase) || record.resident || snapshot !== undefined) return 0
    const { sequence, updatedAt: at } = record
    const result = yield* readResult(journal, opened)
    yield* journal.saveSnapshot(record, { sequence, at, version: 1, body: encodeSnapshot(result) })
    return yield* journal.prune(record, sequence)
  })
