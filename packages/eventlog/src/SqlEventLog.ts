/**
 * Effect's `EventLog` on a journal in SQLite or PostgreSQL. Define events with `EventGroup`, handle every one of them with
 * `EventLog.group` (a missing handler does not compile), write them with `EventLog.makeClient`; this layer runs the handlers.
 *
 *     SqlEventLog.layer(PetLog, PetHandlers, {
 *       keepLatest: ["PetWeighed"],
 *       replay: { name: "pets", tables: ["pets"], create: createPets },
 *     })
 *
 * The writes of handlers to tables of the same database are stored in the same transaction as the event and the position of the
 * projection. Many writers share one such transaction.
 */

import { forkLoop } from "@detent/store"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Event from "effect/eventlog/Event"
import type * as EventGroup from "effect/eventlog/EventGroup"
import { EventJournal } from "effect/eventlog/EventJournal"
import { CurrentStoreId, EventLog, type EventLogSchema, Identity, Registry } from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SqlClient } from "effect/sql/SqlClient"
import { makeCompaction } from "./journal/Compaction.ts"
import type { EventFeed } from "./journal/EventFeed.ts"
import { inside } from "./journal/EventStore.ts"
import { EntryRefused, failed, type ReplayFailed } from "./journal/errors.ts"
import { layerOpen, newEntry } from "./journal/JournalLayer.ts"
import { OpenJournal } from "./journal/OpenJournal.ts"
import { HandledEvent, makeEventHandlers } from "./log/EventHandlers.ts"
import { makeLogWriter } from "./log/LogWriter.ts"
import { makeProjectionTables, type Projection, type ProjectionRefused } from "./log/Projection.ts"
import { layerReactiveRegistry } from "./log/ReactiveRegistry.ts"
import { makeReplay, type Replay, storedProgress, volatileProgress } from "./log/Replay.ts"
import { replicate } from "./log/Replication.ts"
import type * as SqlEventJournal from "./SqlEventJournal.ts"

export { HandlerTimeout, ReplayFailed } from "./journal/errors.ts"
export { type LogEvent, stream } from "./log/LogStream.ts"
export { type Projection, ProjectionRefused } from "./log/Projection.ts"

export interface LogOptions<Tag extends string> extends Omit<SqlEventJournal.JournalOptions, "keepLatest"> {
  /** Events of which only the latest per primary key is kept, such as progress. */
  readonly keepLatest?: ReadonlyArray<Tag>
  /**
   * Which events the handlers get besides those that this process writes. Default: `none`.
   * - a projection: all events that are not in its tables yet, of any process, once in the whole system;
   * - `everyStart`: all events at each start, then those of other processes, for handlers that keep their results in memory;
   * - `none`: no others.
   */
  readonly replay?: Projection | "everyStart" | "none"
  /** How long a handler may take, since all writers wait for it. Default: 30 seconds. */
  readonly handlerTimeout?: Duration.Input
}

/** Why a log could not be opened: the database, the tables, or an event that the handlers cannot handle. */
export type OpenError = SqlEventJournal.OpenError | ReplayFailed | ProjectionRefused

/** The layer is ready when the handlers have received all events that `replay` selects. */
export const layer = <Groups extends EventGroup.Any, E, R>(
  schema: EventLogSchema<Groups>,
  handlers: Layer.Layer<EventGroup.ToService<Groups>, E, R>,
  { keepLatest = [], replay = "none", handlerTimeout = "30 seconds", ...journal }: LogOptions<Event.Tag<EventGroup.Events<Groups>>> = {},
): Layer.Layer<
  EventLog | Registry | EventJournal | EventFeed,
  E | OpenError,
  Exclude<Exclude<R, Registry>, EventJournal | EventFeed | OpenJournal> | SqlClient
> =>
  Layer.effect(EventLog, makeLog(schema, replay, handlerTimeout)).pipe(
    Layer.provideMerge(handlers),
    Layer.provideMerge(layerReactiveRegistry),
    Layer.provideMerge(layerOpen({ ...journal, keepLatest })),
  )

const makeLog = (schema: EventLogSchema<EventGroup.Any>, replay: Projection | "everyStart" | "none", timeout: Duration.Input) =>
  Effect.gen(function* () {
    const open = yield* OpenJournal
    const registry = yield* Registry
    const journal = yield* EventJournal
    const storeId = yield* CurrentStoreId
    const identity = Option.getOrUndefined(yield* Effect.serviceOption(Identity))
    const { store } = open
    yield* distinctTags(schema)

    const handlers = yield* makeEventHandlers({ journal: store.journal, registry, identity, timeout })
    const compaction = makeCompaction(store, registry.compactors)
    const tables = typeof replay === "string" ? undefined : yield* makeProjectionTables(store, replay)
    const progress =
      tables !== undefined && typeof replay !== "string"
        ? storedProgress(replay.name, tables)
        : replay === "everyStart"
          ? volatileProgress()
          : undefined
    const replayer = progress === undefined ? undefined : makeReplay(store, handlers, progress)
    if (tables !== undefined) yield* tables.prepare
    if (replayer !== undefined) {
      yield* replayer.catchUp
      yield* forkLoop(`projection ${replayer.progress.name} of journal ${store.journal}`, keepUp(replayer, open), 30_000)
    }
    const writer = yield* makeLogWriter(open, handlers, replayer, compaction)
    yield* registry.handleRemote(replicate({ open, handlers, replay: replayer, compaction, identity, storeId }))

    const write = ({ event, payload }: { readonly event: string; readonly payload: unknown }) =>
      Effect.gen(function* () {
        const handled = yield* HandledEvent
        const refuse = (problem: string) => failed("write")(new EntryRefused({ journal: store.journal, event, problem }))
        if (handled !== undefined)
          return yield* refuse(`the handler of ${handled} writes it, and would again at every replay; write it where ${handled} is written`)
        if (!handlers.has(event)) return yield* refuse("no handler is registered for it")
        const encoded = yield* Effect.mapError(handlers.encode(event, payload), failed("write"))
        const entry = yield* Effect.mapError(newEntry(open, event, encoded.primaryKey, encoded.payload), failed("write"))
        return yield* writer.write({ entry, payload })
      })

    return EventLog.of({
      // The types come from the schema; at run time, all events are written in the same way.
      write: write as EventLog["Service"]["write"],
      // Inside a transaction, each is written as a part of it.
      writeMany: (({ events }: { readonly events: ReadonlyArray<{ readonly event: string; readonly payload: unknown }> }) =>
        inside(
          Effect.forEach(events, write),
          (writing) => store.transaction(writing),
          (error) => Effect.fail(failed("writeMany")(error)),
        )) as unknown as EventLog["Service"]["writeMany"],
      compact: () =>
        [...registry.compactors.values()].some(({ remote }) => remote === true)
          ? failed("compact")("remotes are not compacted by this log: use EventLog.layer of Effect on SqlEventJournal")
          : Effect.succeed([]),
      entries: journal.entries,
      destroy: tables === undefined ? journal.destroy : Effect.andThen(journal.destroy, Effect.mapError(tables.empty, failed("destroy"))),
    })
  })

/** Two groups with the same tag would replace each other's handlers. */
const distinctTags = ({ groups }: EventLogSchema<EventGroup.Any>) => {
  const tags = groups.flatMap((group) => Object.keys((group as EventGroup.AnyWithProps).events))
  const repeated = tags.find((tag, index) => tags.indexOf(tag) !== index)
  return repeated === undefined ? Effect.void : Effect.die(new Error(`event ${repeated} is in two groups of one log; rename one of them`))
}

/** One turn: waits for events of other processes, and gives them to the handlers. */
const keepUp = ({ progress, catchUp }: Replay, { tail, follower }: OpenJournal["Service"]) => {
  let known = 0
  return Effect.gen(function* () {
    yield* follower.passed(known)
    const { position } = tail
    if (yield* progress.isBehind(position)) yield* catchUp
    known = position
  })
}
