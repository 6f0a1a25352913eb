/** The handle behind the {@link Instance} interface. */
import { InvalidEvent, type MachineStopped, type PersistenceFailed, type SendError, type Taken } from "@detent/machine"
import { actionFailed, notAQuestion, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { EngineCore } from "../engine/EngineCore.ts"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import { reopening } from "../engine/retryOnNewerSnapshot.ts"
import { type EventTrace, instanceAttributes, isTraced, traced } from "../engine/Tracing.ts"
import { notInTransaction } from "../engine/TransactionGuard.ts"
import type { HistoryEntry, InstanceSnapshot, ReadError, SendOptions } from "../Instance.ts"
import { InstanceNotFound } from "../InstanceNotFound.ts"
import { reached, type SequenceNotReached } from "../SequenceNotReached.ts"
import type { OpenedInstance } from "../store/Journal.ts"
import { awaitEnvelope, Envelope } from "./Envelope.ts"
import type { InstanceCell } from "./InstanceCell.ts"
import type { Reloaded } from "./InstanceContext.ts"
import { type ReplayedEvent, recover } from "./Replay.ts"
import { reservedPrefix } from "./SelfSentEvents.ts"

export class InstanceHandle {
  readonly machine: string
  readonly id: string
  readonly #core: EngineCore
  readonly #registered: RegisteredMachine

  constructor(core: EngineCore, registered: RegisteredMachine, id: string) {
    this.#core = core
    this.#registered = registered
    this.machine = registered.name
    this.id = id
  }

  get #cell(): Effect.Effect<InstanceCell, ReadError> {
    return this.#core.open({ machine: this.machine, id: this.id })
  }

  get #isInTransaction(): Effect.Effect<boolean> {
    return Effect.withFiber((fiber) => Effect.succeed(this.#core.isInTransaction(fiber)))
  }

  send(event: Tagged, options?: SendOptions): Effect.Effect<void, SendError | InstanceNotFound> {
    return Effect.asVoid(this.call(event, options))
  }

  call(event: Tagged, options?: SendOptions): Effect.Effect<Taken<Tagged, Tagged>, SendError | InstanceNotFound> {
    return Effect.withFiber((fiber) => {
      if (this.#core.isInTransaction(fiber)) return Effect.fail(notInTransaction(this, "send"))
      if (!isTraced(fiber)) return this.#call(event, options, undefined)
      const attributes = { ...instanceAttributes(this), "detent.event": String(event?._tag) }
      return traced("detent.send", attributes, (trace) => this.#call(event, options, trace))
    })
  }

  #call(
    event: Tagged,
    options: SendOptions | undefined,
    trace: EventTrace | undefined,
  ): Effect.Effect<Taken<Tagged, Tagged>, SendError | InstanceNotFound> {
    if (this.#core.isClosed) return Effect.fail(this.#core.stoppedError({ machine: this.machine, id: this.id }))
    if (options?.id?.startsWith(reservedPrefix) === true) return Effect.fail(this.#reserved(event))
    return Effect.flatMap(this.#cell, (cell) => {
      // It may have been stopped while the instance was read.
      if (this.#core.isClosed && !this.#core.isLive(this))
        return Effect.fail(this.#core.stoppedError({ machine: this.machine, id: this.id }))
      const envelope = new Envelope(event, { dedupeId: options?.id })
      envelope.trace = trace
      return awaitEnvelope(cell.deliver(envelope))
    })
  }

  ask(event: Tagged, options?: SendOptions): Effect.Effect<unknown, SendError | InstanceNotFound> {
    return Effect.gen({ self: this }, function* () {
      if (yield* this.#isInTransaction) return yield* Effect.fail(notInTransaction(this, "ask"))
      const { compiled } = this.#registered
      const reply = compiled.declarations.event.$variants.get(event?._tag)?.reply
      if (reply === undefined && compiled.events.has(event?._tag)) return yield* Effect.fail(notAQuestion(yield* this.#cell, event))
      const { answer } = yield* this.call(event, options)
      if (reply !== undefined && Schema.is(reply)(answer)) return answer
      const cell = yield* this.#cell
      return yield* Effect.fail(actionFailed(cell, "decide", new Error(`the answer to ${event._tag} does not fit its schema`), event))
    })
  }

  get state(): Effect.Effect<Tagged, ReadError> {
    return Effect.suspend(() => {
      const live = this.#core.find(this)
      if (live !== undefined && this.#core.isCurrent(live)) return Effect.succeed(live.currentState)
      return Effect.map(this.snapshot, ({ state }) => state)
    })
  }

  get snapshot(): Effect.Effect<InstanceSnapshot<Tagged>, ReadError> {
    return Effect.withFiber((fiber) => {
      if (this.#core.isInTransaction(fiber)) return this.#reloaded
      return Effect.map(this.#core.openCurrent(this), ({ cell, reloaded }) =>
        reloaded === undefined ? snapshotInMemory(cell) : snapshotOf(reloaded),
      )
    })
  }

  get stored(): Effect.Effect<InstanceSnapshot<Tagged>, ReadError> {
    return Effect.withFiber((fiber) => {
      const live = this.#core.find(this)
      if (live === undefined || this.#core.isInTransaction(fiber)) return this.#reloaded
      return Effect.flatMap(this.#core.standing(this), (standing) =>
        standing?.sequence === live.reached && standing.status === "running" && live.isRunning
          ? Effect.succeed(snapshotInMemory(live))
          : this.#reloaded,
      )
    })
  }

  get #reloaded(): Effect.Effect<InstanceSnapshot<Tagged>, ReadError> {
    return Effect.flatMap(this.#core.reload(this.#registered, this), (reloaded) =>
      reloaded === undefined
        ? Effect.fail(new InstanceNotFound({ machine: this.machine, id: this.id }))
        : Effect.succeed(snapshotOf(reloaded)),
    )
  }

  get lastSequence(): Effect.Effect<number, ReadError> {
    return Effect.map(this.snapshot, (snapshot) => snapshot.sequence)
  }

  stateAt(sequence: number): Effect.Effect<Tagged, ReadError | SequenceNotReached> {
    const { journal } = this.#core
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#opened
      yield* reached(found.record, sequence)
      const { state } = yield* reopening(journal, found, (opened) => recover(this.#registered, journal, opened, sequence))
      return state
    })
  }

  get #opened(): Effect.Effect<OpenedInstance, InstanceNotFound | PersistenceFailed> {
    return Effect.flatMap(this.#core.journal.open(this), (opened) =>
      Option.isSome(opened) ? Effect.succeed(opened.value) : Effect.fail(new InstanceNotFound({ machine: this.machine, id: this.id })),
    )
  }

  get history(): Stream.Stream<HistoryEntry<Tagged, Tagged>, ReadError> {
    return Stream.unwrap(Effect.map(this.#entries, Stream.fromIterable))
  }

  get #entries(): Effect.Effect<ReadonlyArray<HistoryEntry<Tagged, Tagged>>, ReadError> {
    const { journal } = this.#core
    return Effect.flatMap(this.#opened, (found) =>
      reopening(journal, found, (opened) => {
        // A snapshot would hide the events before it, as long as the first state is still there.
        const whole = opened.origin === undefined ? opened : { ...opened, snapshot: undefined }
        const entries: Array<HistoryEntry<Tagged, Tagged>> = []
        const note = ({ record, event, from, state }: ReplayedEvent) => {
          entries.push({ sequence: record.sequence, at: record.at, event, from, state, dedupeId: record.dedupeId })
        }
        return Effect.as(recover(this.#registered, journal, whole, Number.POSITIVE_INFINITY, note), entries)
      }),
    )
  }

  get changes(): Stream.Stream<Tagged, ReadError> {
    return Stream.unwrap(Effect.flatMap(this.#current("changes"), (cell) => Effect.map(this.#core.follow(cell), () => cell.changes)))
  }

  waitFor(predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, ReadError | MachineStopped> {
    return this.#following("waitFor", (cell) => cell.waitFor(predicate))
  }

  get awaitFinal(): Effect.Effect<Tagged, ReadError | MachineStopped> {
    return this.#following("awaitFinal", (cell) => cell.awaitFinal)
  }

  #following<A, E>(operation: string, wait: (cell: InstanceCell) => Effect.Effect<A, E>): Effect.Effect<A, E | ReadError> {
    return Effect.scoped(Effect.flatMap(this.#current(operation), (cell) => Effect.andThen(this.#core.follow(cell), wait(cell))))
  }

  /** In memory, as far as the store has it. */
  #current(operation: string): Effect.Effect<InstanceCell, ReadError> {
    return Effect.withFiber((fiber) =>
      this.#core.isInTransaction(fiber)
        ? Effect.fail(notInTransaction(this, operation))
        : Effect.map(this.#core.openCurrent(this), ({ cell }) => cell),
    )
  }

  get saveSnapshot(): Effect.Effect<boolean, ReadError> {
    return Effect.flatMap(this.#current("saveSnapshot"), (cell) => {
      // Behind a snapshot nobody could tell that the machine still owes itself an event. An engine that has stopped cannot either.
      if (cell.owesStoredEvents || this.#core.isClosed) return Effect.succeed(false)
      // State and sequence are read in one turn, so they belong together however many sends are under way.
      return this.#core.journal.saveSnapshot(this, cell.snapshotRecord())
    })
  }

  get prune(): Effect.Effect<number, ReadError> {
    return Effect.flatMap(this.#opened, ({ snapshot }) =>
      snapshot === undefined ? Effect.succeed(0) : this.#core.journal.prune(this, snapshot.sequence),
    )
  }

  #reserved(event: Tagged): InvalidEvent {
    const problem = `ids that start with ${reservedPrefix} are the engine's own`
    return new InvalidEvent({ machine: this.machine, id: this.id, event: String(event?._tag), problem })
  }
}

const snapshotInMemory = (cell: InstanceCell): InstanceSnapshot<Tagged> => {
  const { state, previous, sequence, status, reason, startedAt, lastTransitionAt } = cell.snapshotUnsafe()
  return { state, previous, sequence, reason, startedAt, lastTransitionAt, status: status === "failed" ? "running" : status }
}

const snapshotOf = ({ opened, recovered }: Reloaded): InstanceSnapshot<Tagged> => {
  const { status, reason, startedAt } = opened.record
  const { state, past, sequence, at: lastTransitionAt } = recovered
  return { state, previous: past.at(-1), sequence, status, reason, startedAt, lastTransitionAt }
}
