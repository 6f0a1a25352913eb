/** Judges the journals of a range of instances, page by page. Reads only. */
import type { PersistenceFailed } from "@detent/machine"
import type { EventRecord } from "@detent/store"
import type { IdRange, JournalPage, JournalReaderService, JournalSelection, ReadJournal } from "@detent/store/internal"
import { ReadSize } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import { type Findings, FindingsOf } from "./Findings.ts"
import { InstanceOracle, type Question } from "./InstanceOracle.ts"
import type { Judgement } from "./Verdict.ts"

/** Takes the events of one journal in their order, and then gives its judgement. */
export interface Judge {
  readonly event: (record: EventRecord) => void
  readonly end: Effect.Effect<Judgement, PersistenceFailed>
}

/** Begins to judge a journal. */
export type BeginJudging = (journal: ReadJournal) => Judge

/** Judges instances of a machine. */
export const judgeInstances =
  (question: Question): BeginJudging =>
  (journal) => {
    const oracle = new InstanceOracle(question, journal)
    return { event: (record) => oracle.event(record), end: Effect.sync(() => withoutStacks(() => oracle.end())) }
  }

export interface RangeOptions {
  /** How many of the instances that differ or are held are kept one by one. */
  readonly findings: number
  /** Called after each page, with the number of instances that were judged since the last call. */
  readonly progress?: (judged: number) => Effect.Effect<void>
}

/** Instances of a page. One page is in memory at a time. */
const pageSize = 500

/**
 * Characters of events that are judged in one turn of the event loop: some 10 ms of work. A server may judge in the process that serves. Each
 * judgement counts as some more: its journal is compared, and decisions on events that have not come are made.
 */
const turnSize = 1_000_000
const judgementSize = 20_000

export const judgeRange = (
  reader: JournalReaderService,
  begin: BeginJudging,
  selection: JournalSelection,
  range: IdRange,
  { findings, progress }: RangeOptions,
): Effect.Effect<Findings, PersistenceFailed> =>
  Effect.gen(function* () {
    const found = new FindingsOf(selection.machine, findings)
    const turn: Turn = { size: 0 }
    for (let rest: IdRange | undefined = range; rest !== undefined; ) {
      const { journals, next }: JournalPage = yield* reader.page(selection, rest, pageSize)
      for (const journal of journals) {
        const judge = withoutStacks(() => begin(journal))
        turn.size += judgementSize
        if (journal.events === undefined) yield* readLong(reader, journal, judge, turn)
        else yield* take(journal.events, judge, turn)
        const { id, status } = journal.record
        found.add(id, status === "final" || status === "stopped", yield* judge.end)
      }
      if (journals.length > 0 && progress !== undefined) yield* progress(journals.length)
      // An interrupt, and other work of the process, come between pages.
      yield* Effect.yieldNow
      rest = next === undefined ? undefined : { ...range, after: next }
    }
    return found.result
  })

/** What was judged since the last turn of the event loop, in characters. */
interface Turn {
  size: number
}

/** Hands events to a judge, and gives turns to other work of the process. */
const take = (events: ReadonlyArray<EventRecord>, judge: Judge, turn: Turn): Effect.Effect<void> =>
  Effect.gen(function* () {
    let next = 0
    const takeUntilTurn = () => {
      for (; next < events.length && turn.size < turnSize; next++) {
        const event = events[next] as EventRecord
        judge.event(event)
        turn.size += event.body.length
      }
    }
    for (;;) {
      withoutStacks(takeUntilTurn)
      if (turn.size < turnSize) return
      turn.size = 0
      yield* Effect.yieldNow
    }
  })

/** A refused decision is an error, and most decisions on events that have not come are refused: their stacks took half of the time. */
const withoutStacks = <A>(run: () => A): A => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Error.stackTraceLimit = limit
  }
}

const readLong = (
  reader: JournalReaderService,
  { record, start }: ReadJournal,
  judge: Judge,
  turn: Turn,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.gen(function* () {
    const size = new ReadSize()
    for (let after = start; after < record.sequence; ) {
      const events: ReadonlyArray<EventRecord> = yield* reader.events(record, after, Math.min(size.events, record.sequence - after))
      size.learn(events)
      yield* take(events, judge, turn)
      const last = events.at(-1)
      // A journal with a gap is judged as it is: the judge says which event is missing.
      if (last === undefined) return
      after = last.sequence
      yield* Effect.yieldNow
    }
  })
