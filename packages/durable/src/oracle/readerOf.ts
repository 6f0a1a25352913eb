/** Reads whole journals through the journal of an open store, for stores that only this process can reach. Changes nothing. */
import type { PersistenceFailed } from "@detent/machine"
import { compareText } from "@detent/machine/internal"
import type { EventRecord, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import { type JournalReaderService, type JournalSelection, type ReadJournal, ReadSize, rangesBetween } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

const pageSize = 500

/** An instance with more events than this is read by itself, so that memory stays bounded. */
const mostEvents = 500

export const readerOf = (journal: JournalService, size = new ReadSize()): JournalReaderService => ({
  machines: journal.machines,
  divide: (selection, size) =>
    Effect.gen(function* () {
      const ends: Array<string> = []
      let count = 0
      for (let after: string | undefined; ; ) {
        const page = yield* journal.page({ machine: selection.machine }, pageSize, after)
        for (const { id } of page.filter((record) => isSelected(selection, record))) if (++count % size === 0) ends.push(id)
        after = page.at(-1)?.id
        if (page.length < pageSize) return { count, ranges: rangesBetween(ends) }
      }
    }),
  page: (selection, { after, through }, limit) =>
    Effect.gen(function* () {
      const page = yield* journal.page({ machine: selection.machine }, limit, after)
      const inRange = through === undefined ? page : page.filter(({ id }) => compareText(id, through) <= 0)
      const keys = inRange.filter((record) => isSelected(selection, record)).map(({ machine, id }) => ({ machine, id }))
      const journals = yield* Effect.forEach(yield* journal.openAll(keys), (opened) => readOne(journal, opened, size))
      const isLast = page.length < limit || inRange.length < page.length
      return { journals: journals.flat(), next: isLast ? undefined : page.at(-1)?.id }
    }),
  open: ({ machine, id }) => Effect.map(journal.open({ machine, id }), Option.getOrUndefined),
  events: (key, after, limit) => journal.events({ machine: key.machine, id: key.id }, after, limit),
})

const isSelected = ({ unended, ended }: JournalSelection, { status, updatedAt }: OpenedInstance["record"]): boolean => {
  if (status === "running" || status === "held") return unended
  return ended !== undefined && updatedAt >= (ended.since ?? 0) && updatedAt < (ended.until ?? Number.POSITIVE_INFINITY)
}

/**
 * The row and the events are read one after the other. If events were pruned, or the instance was removed in between, it is read again;
 * none where it is gone.
 */
const readOne = (
  journal: JournalService,
  opened: OpenedInstance,
  size: ReadSize,
): Effect.Effect<ReadonlyArray<ReadJournal>, PersistenceFailed> =>
  Effect.gen(function* () {
    const { record, origin, snapshot } = opened
    const start = origin === undefined ? (snapshot?.sequence ?? 0) : 0
    const length = record.sequence - start
    if (length > mostEvents) return [{ ...opened, start, events: undefined }]
    const events = yield* readEvents(journal, record, start, record.sequence, size)
    if (events.length === length) return [{ ...opened, start, events }]
    const again = yield* journal.open({ machine: record.machine, id: record.id })
    if (Option.isNone(again)) return []
    const isChanged = again.value.record.startedAt !== record.startedAt || again.value.origin !== origin
    return isChanged ? yield* readOne(journal, again.value, size) : [{ ...opened, start, events }]
  })

/** A few events at a time, and turns for other work of the process in between. Ends where events are missing. */
const readEvents = (
  journal: JournalService,
  key: InstanceKey,
  start: number,
  through: number,
  size: ReadSize,
): Effect.Effect<ReadonlyArray<EventRecord>, PersistenceFailed> =>
  Effect.gen(function* () {
    const events: Array<EventRecord> = []
    for (let after = start; after < through; ) {
      const some: ReadonlyArray<EventRecord> = yield* journal.events(key, after, Math.min(size.events, through - after))
      events.push(...some)
      const last = some.at(-1)
      if (last === undefined) break
      size.learn(some)
      after = last.sequence
      if (after < through) yield* Effect.yieldNow
    }
    return events
  })
