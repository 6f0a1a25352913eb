/** Property: the journal answers any operations, in any order, as the journal in memory does. */
import { afterAll, assert, beforeAll, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  Entry,
  EventJournal,
  EventJournalError,
  makeEntryIdUnsafe,
  makeMemory,
  makeRemoteIdUnsafe,
  RemoteEntry,
} from "effect/eventlog/EventJournal"
import { StoreId } from "effect/eventlog/EventLogMessage"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Schema from "effect/Schema"
import { vi } from "vitest"
import * as SqlEventJournal from "../src/SqlEventJournal.ts"
import { freshName, postgres, sqlite } from "./Databases.ts"

/** A small domain, so that operations collide: two kinds of events, two primary keys, two remotes, few moments. */
const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const event = Schema.Literals(["Renamed", "Moved"])
const primaryKey = Schema.Literals(["a", "b"])

const Operation = Schema.TaggedUnion({
  Write: { event, primaryKey, later: small(2), outcome: Schema.Literals(["succeeds", "succeeds", "fails"]), locked: Schema.Boolean },
  FromRemote: {
    remote: small(1),
    entries: Schema.Array(Schema.Struct({ event, primaryKey, age: small(4) })).check(Schema.isMaxLength(4)),
    /** An event that was written before, here or by a remote. */
    again: Schema.NullOr(small(20)),
    outcome: Schema.Literals(["succeeds", "compacted", "fails"]),
  },
  WriteMany: {
    entries: Schema.NonEmptyArray(Schema.Struct({ event, primaryKey })).check(Schema.isMaxLength(3)),
    outcome: Schema.Literals(["succeeds", "fails"]),
  },
  Acknowledged: { remote: small(1), sequences: Schema.Array(small(40)).check(Schema.isMaxLength(5)), first: small(2) },
  Uncommitted: { remote: small(1), outcome: Schema.Literals(["succeeds", "succeeds", "fails"]) },
  Destroy: { really: Schema.Literals([true, false, false, false, false]) },
})
type Operation = typeof Operation.Type

type Journal = EventJournal["Service"]

const remotes = [makeRemoteIdUnsafe(), makeRemoteIdUnsafe()]

/** One of two journals that get the same operations. Ids of their events differ, so events are compared by payload. */
class Recorded {
  readonly journal: Journal
  readonly log: Array<unknown> = []
  readonly seen: Array<Entry> = []

  constructor(journal: Journal) {
    this.journal = journal
  }

  note(what: unknown) {
    this.log.push(what)
  }

  apply(operation: Operation, index: number, foreign: ReadonlyArray<RemoteEntry>): Effect.Effect<void> {
    switch (operation._tag) {
      case "Write": {
        const write = this.journal.write({
          event: operation.event,
          primaryKey: operation.primaryKey,
          payload: new Uint8Array([1, index]),
          effect: (entry) =>
            operation.outcome === "fails" ? Effect.fail("no") : Effect.sync(() => [this.seen.push(entry), entry.event, [...entry.payload]]),
        })
        return Effect.map(Effect.exit(operation.locked ? this.journal.withLock(StoreId.make("one"))(write) : write), (exit) =>
          this.note(outcome(exit)),
        )
      }
      case "WriteMany": {
        const write = this.journal.writeMany({
          entries: Arr.map(operation.entries, (one, n) => ({ ...one, payload: new Uint8Array([3, index, n]) })),
          effect: (entries) => (operation.outcome === "fails" ? Effect.fail("no") : Effect.succeed(entries)),
        })
        return Effect.flatMap(Effect.exit(write), (exit) => {
          this.note(Exit.isSuccess(exit) ? exit.value.map(content) : "failed")
          if (Exit.isFailure(exit)) return Effect.void
          this.seen.push(...exit.value)
          const [missing] = foreign.map(({ entry }) => entry.id)
          const ids = [...exit.value.map(({ id }) => id).toReversed(), ...(missing === undefined ? [] : [missing])]
          return Effect.map(Effect.orDie(this.journal.entriesById(ids)), (found) =>
            this.note(found.map((entry) => (entry === undefined ? "unknown" : content(entry)))),
          )
        })
      }
      case "Acknowledged": {
        const acks = operation.sequences.map((sequence) => ({ entryId: makeEntryIdUnsafe(), sequence }))
        const remoteId = remotes[operation.remote] ?? makeRemoteIdUnsafe()
        return Effect.orDie(this.journal.writeRemoteAcks({ remoteId, acks, firstSequence: operation.first }))
      }
      case "FromRemote": {
        const repeated = operation.again === null ? undefined : this.seen[operation.again % Math.max(1, this.seen.length)]
        const withAgain =
          repeated === undefined || operation.outcome === "fails"
            ? foreign
            : [...foreign, ...foreign.slice(0, 1), new RemoteEntry({ entry: repeated, remoteSequence: index * 10 + 9 })]
        const handled: Array<unknown> = []
        const written = this.journal.writeFromRemote({
          remoteId: remotes[operation.remote] ?? makeRemoteIdUnsafe(),
          entries: withAgain,
          compact:
            operation.outcome === "compacted"
              ? (uncommitted) => Effect.succeed(uncommitted.slice(-1).map(({ entry }) => entry))
              : undefined,
          effect: (batch) =>
            operation.outcome === "fails"
              ? Effect.fail(new EventJournalError({ method: "effect", cause: "no" }))
              : Effect.sync(() => {
                  for (const { entry, conflicts } of batch) handled.push([content(entry), conflicts.map(content)])
                }),
        })
        return Effect.map(Effect.exit(written), (exit) => {
          if (Exit.isSuccess(exit)) for (const { entry } of foreign) this.seen.push(entry)
          this.note([handled, Exit.isSuccess(exit) ? exit.value.duplicateEntries.map(content) : "failed"])
        })
      }
      case "Uncommitted": {
        const sent = this.journal.withRemoteUncommited(remotes[operation.remote] ?? makeRemoteIdUnsafe(), (entries) =>
          operation.outcome === "fails" ? Effect.fail("no") : Effect.succeed(entries.map(content)),
        )
        return Effect.map(Effect.exit(sent), (exit) => this.note(Exit.isSuccess(exit) ? Option.getOrUndefined(exit.value) : "failed"))
      }
      case "Destroy":
        return operation.really ? Effect.orDie(this.journal.destroy) : Effect.void
    }
  }

  /** All that can be read from it. */
  readonly look = Effect.suspend(() =>
    Effect.orDie(
      Effect.gen({ self: this }, function* () {
        this.note((yield* this.journal.entries).map(content))
        for (const remote of remotes) this.note(yield* this.journal.nextRemoteSequence(remote))
      }),
    ),
  )
}

const content = (entry: Entry) => [entry.event, entry.primaryKey, [...entry.payload], entry.createdAtMillis]

/** How many events of this journal an operation stores. */
const writtenBy = (operation: Operation): number => {
  if (operation._tag === "Write") return operation.outcome === "succeeds" ? 1 : 0
  if (operation._tag === "WriteMany") return operation.outcome === "succeeds" ? operation.entries.length : 0
  return 0
}

const outcome = (exit: Exit.Exit<unknown, unknown>) => (Exit.isSuccess(exit) ? exit.value : "failed")

const foreignEntries = (operation: Operation, index: number, now: number): ReadonlyArray<RemoteEntry> =>
  operation._tag === "FromRemote"
    ? operation.entries.map(
        ({ event, primaryKey, age }, n) =>
          new RemoteEntry({
            remoteSequence: index * 10 + n,
            entry: new Entry({ id: makeEntryIdUnsafe({ msecs: now - age }), event, primaryKey, payload: new Uint8Array([2, index, n]) }),
          }),
      )
    : []

beforeAll(() => {
  // The journal in memory reads the clock of the machine: both get one that moves only by the test. It is ahead of the real one, because
  // the ids that Effect makes in a process never go back.
  vi.useFakeTimers({ toFake: ["Date"], now: 4_000_000_000_000 })
})
afterAll(() => {
  vi.useRealTimers()
})

for (const database of [sqlite, postgres])
  layer(Layer.orDie(database.layer), { excludeTestServices: true, timeout: "60 seconds" })(`event journal: ${database.name}`, (it) => {
    it.effect.prop(
      "agrees with the journal in memory on any sequence of operations",
      [Arbitrary.array(Arbitrary.schema(Operation), { minLength: 5, maxLength: 30 })],
      ([operations]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const opened = yield* Layer.build(SqlEventJournal.layer({ journal: freshName() }))
            const tested = new Recorded(Context.get(opened, EventJournal))
            const model = new Recorded(yield* makeMemory)
            const changes = yield* Effect.all([tested.journal.changes, model.journal.changes])
            for (const [index, operation] of operations.entries()) {
              if (operation._tag === "Write") vi.setSystemTime(Date.now() + operation.later)
              const foreign = foreignEntries(operation, index, Date.now())
              for (const one of [tested, model]) {
                yield* one.apply(operation, index, foreign)
                yield* one.look
              }
              assert.deepStrictEqual(tested.log.at(-1), model.log.at(-1))
            }
            assert.deepStrictEqual(tested.log, model.log)
            const written = operations.reduce((sum, one) => sum + writtenBy(one), 0)
            const isDestroyed = operations.some((one) => one._tag === "Destroy" && one.really)
            if (written === 0 || isDestroyed) return
            const [seen, expected] = yield* Effect.all(changes.map((subscription) => PubSub.takeBetween(subscription, written, written)))
            assert.deepStrictEqual(seen?.map(content), expected?.map(content))
          }),
        ),
      { arbitrary: { runs: database.isPostgres ? 60 : 150 } },
    )
  })
