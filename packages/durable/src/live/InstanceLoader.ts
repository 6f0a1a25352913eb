/** Reads instances from the journal: their state, and the outcome of an earlier event. It starts nothing. */
import { type EventReplayError, NewerVersion, type PersistenceFailed, type Taken } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import type { EventRecord, InstanceKey, InstanceStatus, JournalService, OpenedInstance } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { InstanceNotFound } from "../errors.ts"
import type { ReadError } from "../Instance.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { type ReplayedEvent, readEvent, recover } from "../machine/Replay.ts"
import { instanceAttributes, instancesHeld, isTraced, recoveries, spanned } from "../runtime/Telemetry.ts"
import type { FirstOutcome, Reloaded } from "./InstanceContext.ts"
import { retryOnChange } from "./retryOnChange.ts"

/** `work` marks instances that do not replay as held, and releases those that replay again; `observe` changes nothing. */
export type LoaderRole = "work" | "observe"

export class InstanceLoader {
  readonly #journal: JournalService
  readonly #role: LoaderRole
  readonly #ownNode: () => string | undefined

  /** `ownNode`: the name under which this process owns state work now. */
  constructor(journal: JournalService, role: LoaderRole, ownNode: () => string | undefined) {
    this.#journal = journal
    this.#role = role
    this.#ownNode = ownNode
  }

  /** The instance as the journal has it now; undefined where there is none. */
  reload(registered: RegisteredMachine, key: InstanceKey): Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#journal.open(key)
      if (Option.isNone(found)) return undefined
      const read = yield* Effect.catchTag(this.recover(registered, found.value), "InstanceNotFound", () => Effect.succeed(undefined))
      if (read === undefined) return undefined
      const { opened, recovered } = read
      const { record } = opened
      if (record.status !== "held" || this.#role === "observe") return { opened, recovered }
      // It replays again: it has been repaired, or the definition has.
      const status: InstanceStatus =
        recovered.stopped !== undefined ? "stopped" : registered.compiled.nodes.get(recovered.state._tag)?.final ? "final" : "running"
      yield* this.#journal.setStatus(record, status, recovered.stopped)
      return { opened: { ...opened, record: { ...record, status, reason: recovered.stopped } }, recovered }
    })
  }

  /**
   * Replays an instance. If an event no longer fits, the instance is marked as held, and no event is skipped. Before that it is read
   * once more, since other nodes may have written between the two reads. Content of a newer version does not make it held.
   */
  recover(registered: RegisteredMachine, found: OpenedInstance, journal = this.#journal): Effect.Effect<Reloaded, ReadError> {
    const read = (opened: OpenedInstance) =>
      // Prefetched events belong to the first read.
      Effect.map(recover(registered, opened === found ? journal : this.#journal, opened), (recovered) => ({ opened, recovered }))
    const confirmed: Effect.Effect<Reloaded, ReadError> = Effect.catchTag(
      retryOnChange(this.#journal, found, read),
      "EventReplayError",
      (error) => this.#readAgain(found, error, read),
    )
    const reading = spanned("detent.recover", instanceAttributes(found.record), Effect.tap(confirmed, annotateReached))
    return reading.pipe(
      Effect.tap(() => Metric.update(recoveries, 1)),
      Effect.tapError((error) =>
        this.#role === "observe" || error._tag !== "EventReplayError" || error instanceof NewerVersion
          ? Effect.void
          : Effect.andThen(this.#hold(found, error), Effect.logError(error.message)),
      ),
    )
  }

  /**
   * An instance that has ended stays ended. One whose work another node runs is that node's: it can replay the instance, and a row that
   * is held names no owner, so that a third node would run the work as well. If that node ends, this one takes the work over first.
   */
  #hold({ record }: OpenedInstance, { message }: EventReplayError): Effect.Effect<void> {
    if (record.status === "running" && record.owner !== undefined && record.owner !== this.#ownNode()) return Effect.void
    const marking = record.status === "running" ? Effect.ignore(this.#journal.setStatus(record, "held", message)) : Effect.void
    return Effect.andThen(marking, Metric.update(instancesHeld, 1))
  }

  #readAgain(
    found: OpenedInstance,
    error: EventReplayError,
    read: (opened: OpenedInstance) => Effect.Effect<Reloaded, EventReplayError | PersistenceFailed>,
  ): Effect.Effect<Reloaded, ReadError> {
    if (error instanceof NewerVersion || found.record.status !== "running") return Effect.fail(error)
    const { machine, id } = found.record
    return Effect.flatMap(
      this.#journal.open({ machine, id }),
      (again): Effect.Effect<Reloaded, ReadError> =>
        Option.isNone(again) ? Effect.fail(new InstanceNotFound({ machine, id })) : read(again.value),
    )
  }

  /** The outcome of the event of a dedupe id, if it is journaled. */
  firstOutcome(
    registered: RegisteredMachine,
    key: InstanceKey,
    dedupeId: string,
  ): Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#journal.findDuplicate(key, dedupeId)
      if (Option.isNone(found)) return undefined
      const opened = yield* this.#journal.open(key)
      if (Option.isNone(opened)) return undefined
      const { value: record } = found
      const { startedAt } = opened.value.record
      const reading = retryOnChange(this.#journal, opened.value, (now) => {
        // The instance was removed with the event: its dedupe id is free in the next instance.
        if (now.record.startedAt !== startedAt) return Effect.succeed(undefined)
        const isPruned = now.origin === undefined && now.snapshot !== undefined && now.snapshot.sequence >= record.sequence
        return isPruned ? this.#answerOnly(registered, now, record) : this.#replayed(registered, now, record.sequence)
      })
      return yield* Effect.catchTag(reading, "InstanceNotFound", () => Effect.succeed(undefined))
    })
  }

  #replayed(
    registered: RegisteredMachine,
    { snapshot, ...opened }: OpenedInstance,
    sequence: number,
  ): Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed> {
    return Effect.suspend(() => {
      // The event itself must be replayed, so a later snapshot cannot be used.
      const before = { ...opened, snapshot: snapshot !== undefined && snapshot.sequence < sequence ? snapshot : undefined }
      let replayed: ReplayedEvent | undefined
      const replaying = recover(registered, this.#journal, before, sequence, (one) => {
        replayed = one
      })
      return Effect.map(replaying, ({ stopped }) =>
        replayed === undefined ? undefined : { sequence, taken: takenAgain(replayed, stopped) },
      )
    })
  }

  /** The outcome of a pruned event: its answer and the state of the snapshot remain, the states before and after it do not. */
  #answerOnly(
    registered: RegisteredMachine,
    opened: OpenedInstance,
    record: EventRecord,
  ): Effect.Effect<FirstOutcome, EventReplayError | PersistenceFailed> {
    return Effect.zipWith(
      recover(registered, this.#journal, opened, opened.snapshot?.sequence),
      readEvent(registered.codec, opened.record, record),
      ({ state }, { event, answer }) => ({
        sequence: record.sequence,
        taken: takenAgain({ from: state, state, event, moved: false, answer }, undefined),
      }),
    )
  }
}

/** Annotates the span with the sequence that was reached, and the number of events that were replayed. */
const annotateReached = ({ opened, recovered }: Reloaded): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    if (!isTraced(fiber)) return Effect.void
    const { state, sequence } = recovered
    const replayed = sequence - (opened.snapshot?.sequence ?? 0)
    return Effect.annotateCurrentSpan({ "detent.state": state._tag, "detent.sequence": sequence, "detent.replayed": replayed })
  })

/** The decision that was made the first time. It is not carried out again. */
const takenAgain = (
  { from, state, event, moved, answer }: Pick<ReplayedEvent, "from" | "state" | "event" | "moved" | "answer">,
  stopped: string | undefined,
): Taken<Tagged, Tagged> => {
  const common = { from, state, event, answer, requests: [], sends: [], through: [], hooks: [], timers: [], delays: [], guardAnswers: [] }
  if (stopped !== undefined) return { _tag: "Stop", reason: stopped, ...common }
  return { _tag: moved ? "Goto" : "Stay", ...common }
}
