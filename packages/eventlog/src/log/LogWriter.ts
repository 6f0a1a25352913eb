/**
 * Writes events through their handlers. One transaction for a batch of writers runs the handlers one after the other in the order of the
 * positions, and stores the events and the position of the projection. So a rebuilt projection gets the same events in the same order as
 * the first one.
 */

import { makeBatcher } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Hex from "effect/encoding/Hex"
import type { Entry } from "effect/eventlog/EventJournal"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Compaction } from "../journal/Compaction.ts"
import { inside, type StoreError } from "../journal/EventStore.ts"
import { failed, HandlerTimeout, JournalClosed } from "../journal/errors.ts"
import type { OpenJournal } from "../journal/OpenJournal.ts"
import { retryTransient } from "../journal/retryTransient.ts"
import type { EventHandlers } from "./EventHandlers.ts"
import { type Replay, transientError } from "./Replay.ts"

/** The handlers of a batch run one after the other in one transaction, and the next batch waits for it. */
const batchLimit = 200

/** The limit with a savepoint for each: PostgreSQL becomes slow for all clients if a transaction has more than 64. */
const guardedLimit = 50

export interface Written {
  readonly entry: Entry
  readonly payload: unknown
}

export interface LogWriter {
  /** Returns the result of the handler when the event is stored; fails as the handler does, or with an `EventJournalError`. */
  readonly write: (written: Written) => Effect.Effect<unknown, unknown>
}

interface Waiting extends Written {
  /** The writer's own services and references: its handler runs with them. */
  readonly context: Context.Context<never>
  /** The exit of the last run of its handler. */
  outcome: Exit.Exit<unknown, unknown> | undefined
  /** The exit of the write, once it is known whether the event is stored. */
  exit: Exit.Exit<unknown, unknown> | undefined
  /** The writer was interrupted before its batch began. */
  isAbandoned: boolean
}

/** A handler failed in a transaction that it shares with others: the transaction has to be rolled back. */
class BatchHandlerFailed {
  readonly _tag = "BatchHandlerFailed"
}

/** Other processes stored more events than the replay handles in one transaction. */
class Behind {
  readonly _tag = "Behind"
}

export const makeLogWriter = (
  { store, writer, tail, follower }: OpenJournal["Service"],
  handlers: EventHandlers,
  replay: Replay | undefined,
  compaction: Compaction,
): Effect.Effect<LogWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { sql } = store.dialect
    const closed = Exit.fail(failed("write")(new JournalClosed({ journal: store.journal })))

    /** Runs the handler with the services of the writer, inside the current transaction. */
    const handle = ({ entry, payload, context }: Waiting) =>
      Effect.updateContext(handlers.handle({ entry, payload, conflicts: [] }), (around: Context.Context<never>) =>
        Context.merge(around, context),
      )

    const noting = (one: Waiting, handling: Effect.Effect<unknown, unknown>) =>
      Effect.flatMap(Effect.exit(handling), (exit) => {
        one.outcome = Exit.mapError(exit, (error) => (error instanceof HandlerTimeout ? failed("write")(error) : error))
        const passing = Exit.isFailure(exit) ? transientError(exit.cause) : undefined
        return passing === undefined ? Effect.succeed(exit) : Effect.fail(passing)
      })

    /** Nearly all handlers succeed: then no savepoint is needed. */
    const trusting = (one: Waiting) =>
      Effect.flatMap(noting(one, handle(one)), (exit) => (Exit.isFailure(exit) ? Effect.fail(new BatchHandlerFailed()) : Effect.void))

    /** Behind a savepoint, so that a failed handler is rolled back alone. */
    const guarded = (one: Waiting) => noting(one, sql.withTransaction(handle(one)))

    type Handle = (one: Waiting) => Effect.Effect<unknown, StoreError | BatchHandlerFailed>

    /**
     * Returns the writers whose events are not stored. The others, stored by an attempt whose answer was lost, keep the outcome of that
     * attempt. Under the lock that attempt has certainly ended.
     */
    const missing = (waiting: ReadonlyArray<Waiting>) =>
      Effect.map(store.storedIds(waiting.map(({ entry }) => entry.id)), (stored) => {
        if (stored.size > 0) follower.poke()
        return waiting.filter(({ entry }) => !stored.has(Hex.encode(entry.id)))
      })

    const transact = (waiting: ReadonlyArray<Waiting>, isRepeated: boolean, handleOne: Handle) =>
      store.transaction(
        Effect.gen(function* () {
          const last = yield* store.lock
          const reached = replay === undefined ? last : yield* replay.approach(last)
          if (reached < last) return { stored: undefined, reached, isCompacted: false }
          const remaining = isRepeated ? yield* missing(waiting) : waiting
          yield* Effect.forEach(remaining, handleOne, { discard: true })
          const entries = remaining.filter(isHandled).map(({ entry }) => ({ entry, origin: undefined }))
          const stored = yield* writer.append(last, entries)
          const isCompacted = yield* compaction.compact(stored)
          if (replay !== undefined && stored.length > 0) yield* replay.progress.advance(last + stored.length)
          return { stored, reached: last + stored.length, isCompacted }
        }),
      )

    const attempt = (waiting: ReadonlyArray<Waiting>, isRepeated: boolean, handleOne: Handle) =>
      Effect.flatMap(transact(waiting, isRepeated, handleOne), ({ stored, reached, isCompacted }) => {
        replay?.progress.reached(reached)
        if (stored === undefined) return Effect.fail(new Behind())
        if (isCompacted) tail.forget()
        return Effect.void
      })

    const storeAll = (waiting: ReadonlyArray<Waiting>, handleOne: Handle) =>
      retryTransient((isRepeated) => Effect.retry(attempt(waiting, isRepeated, handleOne), { while: (error) => error instanceof Behind }))

    const flush = (waiting: ReadonlyArray<Waiting>): Effect.Effect<void> => {
      if (waiting.length === 0) return Effect.void
      return Effect.flatMap(Effect.exit(alone(storeAll(waiting, trusting))), (exit) => {
        // A single failed handler is rolled back with its transaction. With several, each is handled again behind its own savepoint.
        if (!isBatchHandlerFailed(exit) || waiting.length === 1) return decide(waiting, isBatchHandlerFailed(exit) ? Exit.void : exit)
        return Effect.forEach(
          Arr.chunksOf(waiting, guardedLimit),
          (some) => Effect.flatMap(Effect.exit(alone(storeAll(some, guarded))), (exit) => decide(some, exit)),
          { discard: true },
        )
      })
    }

    /** Either the transaction failed for all of them, or each ends as its handler did. */
    const decide = (waiting: ReadonlyArray<Waiting>, exit: Exit.Exit<void, unknown>): Effect.Effect<void> =>
      Effect.sync(() => {
        const failure = Exit.isFailure(exit) ? Exit.mapError(exit, failed("write")) : undefined
        for (const one of waiting) one.exit = failure ?? one.outcome
      })

    const alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E> = replay === undefined ? (effect) => effect : replay.alone

    const writing = yield* makeBatcher<Waiting, unknown, unknown>({
      limit: batchLimit,
      perform: (all) => Effect.map(flush(all.filter(({ isAbandoned }) => !isAbandoned)), () => all.map(({ exit }) => exit ?? closed)),
      closed: () => closed,
    })

    const writeGathered = ({ entry, payload }: Written) =>
      Effect.flatMap(Effect.context<never>(), (context) => {
        const one: Waiting = { entry, payload, context, outcome: undefined, exit: undefined, isAbandoned: false }
        return Effect.onInterrupt(writing.submit(one), () =>
          Effect.sync(() => {
            one.isAbandoned = true
          }),
        )
      })

    /** Writes inside the writer's own transaction: the event is stored or rolled back with it. */
    const writeInTransaction = (written: Written) => {
      const handling = handlers.handle({ ...written, conflicts: [] })
      const entry = { entry: written.entry, origin: undefined }
      const storing = <E>(handling: Effect.Effect<unknown, E>) =>
        store.transaction(
          Effect.gen(function* () {
            const last = yield* store.lock
            if (replay?.progress.isStored) while ((yield* replay.approach(last)) < last);
            const value = yield* handling
            const stored = yield* writer.append(last, [entry])
            if (yield* compaction.compact(stored)) yield* store.afterCommit(Effect.sync(() => tail.forget()))
            if (replay?.progress.isStored) yield* replay.progress.advance(last + stored.length)
            else replay?.progress.handled(written.entry.id)
            return value
          }),
        )
      return inside(handling, storing, (error) => Effect.fail(failed("write")(error)))
    }

    return {
      write: (written) =>
        Effect.flatMap(store.isInTransaction, (isInTransaction) =>
          isInTransaction ? writeInTransaction(written) : writeGathered(written),
        ),
    }
  })

const isHandled = ({ outcome }: Waiting): boolean => outcome !== undefined && Exit.isSuccess(outcome)

const isBatchHandlerFailed = (exit: Exit.Exit<void, unknown>): boolean =>
  Exit.isFailure(exit) && Option.exists(Cause.findErrorOption(exit.cause), (error) => error instanceof BatchHandlerFailed)
