/** The handle behind the {@link Instance} interface. */

import { InvalidEvent, MachineStopped, type PersistenceFailed, type Postponed, type SendError, type Taken } from "@detent/machine"
import {
  actionFailed,
  asSchema,
  decide,
  describe,
  eventProblem,
  identified,
  idProblem,
  isHandling,
  notAQuestion,
  type Tagged,
  tagOf,
  waitsForItself,
} from "@detent/machine/internal"
import type { InstanceStatus, OpenedInstance } from "@detent/store"
import { boundedNameProblem, reservedPrefix } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { InstanceNotFound, noInstance, PreviewRefused, reached, type SequenceNotReached } from "../errors.ts"
import type { HistoryEntry, HistoryOptions, InstanceSnapshot, ReadError, SendOptions } from "../Instance.ts"
import { type Answered, accepted, decided } from "../live/Delivery.ts"
import type { Reloaded } from "../live/InstanceContext.ts"
import { continues } from "../live/InstanceMode.ts"
import type { LiveInstance } from "../live/LiveInstance.ts"
import { retryOnChange } from "../live/retryOnChange.ts"
import { CurrentActor, storedActor } from "../machine/Actor.ts"
import type { DelayedEvent } from "../machine/DelayedEvents.ts"
import { Envelope } from "../machine/Envelope.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { instanceAttributes, isTraced, traced } from "../runtime/Telemetry.ts"
import { untilAnsweredBackoff } from "../runtime/untilAnswered.ts"
import type { EngineParts } from "./EngineParts.ts"
import { notInTransaction } from "./TransactionGuard.ts"

/** How many entries of a history are read at a time. */
const historyPageSize = 500

export class InstanceHandle {
  readonly machine: string
  readonly id: string
  readonly #engine: EngineParts
  readonly #registered: RegisteredMachine

  constructor(engine: EngineParts, registered: RegisteredMachine, id: string) {
    this.#engine = engine
    this.#registered = registered
    this.machine = registered.name
    this.id = id
  }

  get #live(): Effect.Effect<LiveInstance, ReadError> {
    return this.#engine.table.open({ machine: this.machine, id: this.id })
  }

  /** The same for an event: its sender waits for a store that does not answer. */
  get #receiving(): Effect.Effect<LiveInstance, ReadError> {
    return this.#engine.storeWait.open({ machine: this.machine, id: this.id })
  }

  send(event: Tagged, options?: SendOptions): Effect.Effect<void, SendError | InstanceNotFound> {
    return this.#send(event, options, accepted)
  }

  call(event: Tagged, options?: SendOptions): Effect.Effect<Taken<Tagged, Tagged>, SendError | InstanceNotFound> {
    return this.#send(event, options, decided)
  }

  #send<A>(event: Tagged, options: SendOptions | undefined, answered: Answered<A>): Effect.Effect<A, SendError | InstanceNotFound> {
    return Effect.withFiber((fiber): Effect.Effect<A, SendError | InstanceNotFound> => {
      const sent = this.#copy(event, options?.id)
      if (sent instanceof Error) return Effect.fail(sent)
      const { table, transactions } = this.#engine
      if (transactions.isInside(fiber)) return Effect.fail(notInTransaction(this, "send"))
      const live = table.find(this)
      if (live !== undefined && isHandling(fiber, live.record)) return Effect.fail(waitsForItself(live.record, sent))
      const envelope = new Envelope(sent, { dedupeId: options?.id, by: storedActor(options?.by ?? fiber.getRef(CurrentActor)) })
      if (!isTraced(fiber)) return this.#deliver(envelope, answered, live)
      const attributes = { ...instanceAttributes(this), "detent.event": String(sent?._tag) }
      return traced("detent.send", attributes, (trace) => {
        envelope.trace = trace
        return this.#deliver(envelope, answered, table.find(this))
      })
    })
  }

  #deliver<A>(envelope: Envelope, answered: Answered<A>, live: LiveInstance | undefined): Effect.Effect<A, SendError | InstanceNotFound> {
    const { delivery, storeWait, table } = this.#engine
    if (table.isClosed) return Effect.fail(table.stoppedError(this))
    return delivery.deliver(this.#registered, this.id, envelope, answered, (key) => storeWait.open(key), live)
  }

  /** A copy of the event, which the caller may change as soon as this returns; or the error why it cannot be sent. */
  #copy(event: Tagged, dedupeId: unknown): Tagged | InvalidEvent | InstanceNotFound {
    const missing = noInstance(this)
    if (missing !== undefined) return missing
    const problem = dedupeId === undefined ? undefined : dedupeIdProblem(dedupeId)
    if (problem !== undefined) return this.#invalid(event, problem)
    try {
      return this.#registered.codec.copyEvent(event)
    } catch (cause) {
      return this.#invalid(event, cause instanceof RangeError ? tooDeep : `it cannot be read: ${describe(cause)}`)
    }
  }

  ask(event: Tagged, options?: SendOptions): Effect.Effect<unknown, SendError | InstanceNotFound> {
    return Effect.gen({ self: this }, function* () {
      const missing = noInstance(this)
      if (missing !== undefined) return yield* Effect.fail(missing)
      if (yield* this.#isInTransaction) return yield* Effect.fail(notInTransaction(this, "ask"))
      const { compiled } = this.#registered
      const tag = tagOf(event) ?? ""
      const reply = compiled.declarations.event.$variants.get(tag)?.reply
      if (reply === undefined && compiled.events.has(tag)) {
        return yield* Effect.fail(notAQuestion((yield* this.#receiving).record, event))
      }
      const { answer } = yield* this.call(event, options)
      if (reply !== undefined && Schema.is(asSchema(reply))(answer)) return answer
      const { record } = yield* this.#live
      return yield* Effect.fail(actionFailed(record, "decide", new Error(`the answer to ${event._tag} does not fit its schema`), event))
    })
  }

  preview(event: Tagged): Effect.Effect<Taken<Tagged, Tagged> | Postponed<Tagged, Tagged>, SendError | ReadError | PreviewRefused> {
    return Effect.gen({ self: this }, function* () {
      const copied = this.#copy(event, undefined)
      if (copied instanceof Error) return yield* Effect.fail(copied)
      const { machine, id } = this
      const { compiled } = this.#registered
      const problem = eventProblem(compiled, copied)
      if (problem !== undefined) return yield* Effect.fail(identified(problem, id))
      const { state, status, reason = "it is final" } = yield* this.stored
      if (status !== "running") return yield* Effect.fail(new MachineStopped({ machine, id, state: state._tag, reason }))
      const decision = decide(compiled, state, copied, Math.floor(yield* this.#registered.environment.clock.currentTimeMillis))
      switch (decision._tag) {
        case "Refused":
          return yield* Effect.fail(identified(decision.error, id))
        case "Deferred":
          return yield* Effect.fail(new PreviewRefused({ machine, id, event: copied._tag }))
        default:
          return decision
      }
    })
  }

  get #isInTransaction(): Effect.Effect<boolean> {
    return Effect.withFiber((fiber) => Effect.succeed(this.#engine.transactions.isInside(fiber)))
  }

  get state(): Effect.Effect<Tagged, ReadError> {
    return Effect.suspend(() => {
      const live = this.#engine.table.find(this)
      if (live !== undefined && this.#engine.follower.isCurrent(live)) return Effect.succeed(live.record.currentState)
      return Effect.map(this.snapshot, ({ state }) => state)
    })
  }

  get snapshot(): Effect.Effect<InstanceSnapshot<Tagged, Tagged>, ReadError> {
    return Effect.withFiber((fiber) => {
      const { transactions, follower } = this.#engine
      if (transactions.isInside(fiber) || follower.isClosed) return this.#reloaded
      return Effect.map(this.#openCurrent, ({ live, reloaded }) => (reloaded === undefined ? snapshotInMemory(live) : snapshotOf(reloaded)))
    })
  }

  /** The instance in memory, up to date with the store; and the journal as it was read, where memory was behind. */
  get #openCurrent(): Effect.Effect<{ readonly live: LiveInstance; readonly reloaded: Reloaded | undefined }, ReadError> {
    const { table, follower } = this.#engine
    return Effect.suspend(() => {
      const isNew = !table.knows(this)
      return Effect.flatMap(this.#live, (live) =>
        isNew || !live.record.isRunning || follower.isCurrent(live)
          ? Effect.succeed({ live, reloaded: undefined })
          : Effect.flatMap(follower.catchUp(live), (reloaded) => {
              const isSame = reloaded === undefined || reloaded.opened.record.startedAt === live.record.startedAt
              // It may have left memory during the read, or the store has a later instance of the same id.
              if (!live.record.isRunning && (reloaded === undefined || !isSame)) return this.#openCurrent
              return Effect.succeed({ live, reloaded })
            }),
      )
    })
  }

  get stored(): Effect.Effect<InstanceSnapshot<Tagged, Tagged>, ReadError> {
    return Effect.withFiber((fiber) => {
      const live = this.#engine.table.find(this)
      if (live === undefined || this.#engine.transactions.isInside(fiber)) return this.#reloaded
      return Effect.flatMap(this.#engine.follower.position(this), (position) =>
        position?.sequence === live.record.sequence &&
        position.startedAt === live.record.startedAt &&
        !live.position.isBehind(position) &&
        position.status === "running" &&
        live.record.isRunning
          ? Effect.succeed(snapshotInMemory(live))
          : this.#reloaded,
      )
    })
  }

  get #reloaded(): Effect.Effect<InstanceSnapshot<Tagged, Tagged>, ReadError> {
    const missing = noInstance(this)
    if (missing !== undefined) return Effect.fail(missing)
    return Effect.flatMap(this.#engine.loader.reload(this.#registered, this), (reloaded) =>
      reloaded === undefined
        ? Effect.fail(new InstanceNotFound({ machine: this.machine, id: this.id }))
        : Effect.succeed(snapshotOf(reloaded)),
    )
  }

  get lastSequence(): Effect.Effect<number, ReadError> {
    return Effect.map(this.snapshot, (snapshot) => snapshot.sequence)
  }

  stateAt(sequence: number): Effect.Effect<Tagged, ReadError | SequenceNotReached> {
    const { journal, history } = this.#engine
    return Effect.flatMap(this.#opened, (found) =>
      retryOnChange(journal, found, (opened) =>
        Effect.andThen(reached(opened.record, sequence), history.stateAt(this.#registered, opened, sequence)),
      ),
    )
  }

  get #opened(): Effect.Effect<OpenedInstance, InstanceNotFound | PersistenceFailed> {
    const missing = noInstance(this)
    if (missing !== undefined) return Effect.fail(missing)
    return Effect.flatMap(this.#engine.journal.open(this), (opened) =>
      Option.isSome(opened) ? Effect.succeed(opened.value) : Effect.fail(new InstanceNotFound({ machine: this.machine, id: this.id })),
    )
  }

  historyPage(options: HistoryOptions = {}): Effect.Effect<ReadonlyArray<HistoryEntry<Tagged, Tagged>>, ReadError> {
    return Effect.flatMap(this.#opened, (opened) => this.#engine.history.page(this.#registered, opened, options))
  }

  get history(): Stream.Stream<HistoryEntry<Tagged, Tagged>, ReadError> {
    return Stream.paginate(0, (after) =>
      Effect.map(this.historyPage({ after, limit: historyPageSize }), (entries) => {
        const last = entries.at(-1)
        return [
          entries,
          last === undefined || entries.length < historyPageSize ? Option.none<number>() : Option.some(last.sequence),
        ] as const
      }),
    )
  }

  get changes(): Stream.Stream<Tagged, ReadError> {
    return this.#changesOf(this.#current("changes"))
  }

  #changesOf(opening: Effect.Effect<LiveInstance, ReadError>): Stream.Stream<Tagged, ReadError> {
    return Stream.unwrap(
      Effect.flatMap(opening, (live) =>
        Effect.map(this.#engine.follower.follow(live), () =>
          Stream.concat(
            live.record.changes,
            Stream.suspend(() => (this.#isFollowedFurther(live) ? this.#changesOf(this.#returned("changes")) : Stream.empty)),
          ),
        ),
      ),
    )
  }

  waitFor(predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, ReadError | MachineStopped> {
    return this.#following("waitFor", this.#current("waitFor"), ({ record }) => record.waitFor(predicate))
  }

  get awaitFinal(): Effect.Effect<Tagged, ReadError | MachineStopped> {
    return this.#following("awaitFinal", this.#current("awaitFinal"), ({ record }) => record.awaitFinal)
  }

  #following<A, E>(
    operation: string,
    opening: Effect.Effect<LiveInstance, ReadError>,
    wait: (live: LiveInstance) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | ReadError> {
    const waited = Effect.flatMap(opening, (live) =>
      Effect.match(Effect.andThen(this.#engine.follower.follow(live), wait(live)), {
        onFailure: (error): Effect.Effect<A, E | ReadError> =>
          this.#isFollowedFurther(live) ? this.#following(operation, this.#returned(operation), wait) : Effect.fail(error),
        onSuccess: (value) => Effect.succeed(value),
      }),
    )
    // The scope ends before the next wait begins: the instance that has left is no longer followed.
    return Effect.flatten(Effect.scoped(waited))
  }

  /** Whether the instance has left memory and continues: it moved to another node, or the store was away for too long. */
  #isFollowedFurther({ mode: { left } }: LiveInstance): boolean {
    return left !== undefined && continues(left.reason) && !this.#engine.table.isClosed
  }

  /** The instance in memory after it has left, once the store answers. Fails if the engine is closed before. */
  #returned(operation: string): Effect.Effect<LiveInstance, ReadError> {
    const isAway = (error: ReadError) => error._tag === "PersistenceFailed" && !this.#engine.table.isClosed
    const returned = Effect.retry(this.#current(operation), { schedule: untilAnsweredBackoff, while: isAway })
    // An instance notifies its listeners before it has left the table.
    return Effect.andThen(Effect.yieldNow, returned)
  }

  /** The instance in memory, up to date with the store. */
  #current(operation: string): Effect.Effect<LiveInstance, ReadError> {
    return Effect.withFiber((fiber) =>
      this.#engine.transactions.isInside(fiber)
        ? Effect.fail(notInTransaction(this, operation))
        : Effect.map(this.#openCurrent, ({ live }) => live),
    )
  }

  get saveSnapshot(): Effect.Effect<boolean, ReadError> {
    return Effect.flatMap(this.#current("saveSnapshot"), (live) => {
      // A snapshot would hide a self-sent event that is not journaled yet.
      if (live.hasUnstoredSelfSent || this.#engine.table.isClosed) return Effect.succeed(false)
      const { machine, id } = this
      return this.#engine.journal.saveSnapshot(
        { machine, id, startedAt: live.record.startedAt, revision: live.position.revision },
        live.position.snapshot(live.machine),
      )
    })
  }

  get prune(): Effect.Effect<number, ReadError> {
    const { journal, table } = this.#engine
    return Effect.flatMap(this.#opened, ({ snapshot }) => {
      if (table.isClosed) return Effect.fail(table.notWritten({ machine: this.machine, id: this.id }, "prune"))
      return snapshot === undefined ? Effect.succeed(0) : journal.prune(this, snapshot.sequence)
    })
  }

  #invalid(event: unknown, problem: string): InvalidEvent {
    return new InvalidEvent({ machine: this.machine, id: this.id, event: tagOf(event) ?? "a value without _tag", problem })
  }
}

/** Why an event cannot be sent under this id; undefined where it can. */
const dedupeIdProblem = (id: unknown): string | undefined =>
  idProblem(id) ??
  (String(id).startsWith(reservedPrefix) ? `ids that start with ${reservedPrefix} are reserved for the engine` : undefined) ??
  boundedNameProblem("dedupe id", String(id))

const tooDeep = "it contains itself, or is nested too deeply; send plain data"

const snapshotInMemory = ({ record, position: { delayed } }: LiveInstance): InstanceSnapshot<Tagged, Tagged> => {
  const { state, previous, sequence, status, reason, startedAt, lastTransitionAt } = record.snapshot()
  const shown = status === "failed" ? "running" : status
  return { state, previous, sequence, reason, startedAt, lastTransitionAt, status: shown, ...waiting(shown, delayed) }
}

const snapshotOf = ({ opened, recovered }: Reloaded): InstanceSnapshot<Tagged, Tagged> => {
  const { status, reason, startedAt } = opened.record
  const { state, past, sequence, at: lastTransitionAt, delayed } = recovered
  return { state, previous: past.at(-1), sequence, status, reason, startedAt, lastTransitionAt, ...waiting(status, delayed) }
}

/** The waiting delayed events, earliest deadline first. An instance that has ended has none. */
const waiting = (status: InstanceStatus, delayed: ReadonlyArray<DelayedEvent>): Pick<InstanceSnapshot<Tagged, Tagged>, "delayed"> =>
  delayed.length === 0 || status === "final" || status === "stopped"
    ? {}
    : { delayed: delayed.map(({ name, due, event }) => ({ name, due, event })).sort((left, right) => left.due - right.due) }
