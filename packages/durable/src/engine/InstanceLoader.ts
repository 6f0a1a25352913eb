/** Reading instances from the journal: where they stand, and what an event once came to. Nothing is started by it. */
import type { EventReplayError, PersistenceFailed, Taken } from "@detent/machine"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { FirstOutcome, Reloaded } from "../instance/InstanceContext.ts"
import { NewerVersion } from "../instance/NewerVersion.ts"
import { type ReplayedEvent, readEvent, recover } from "../instance/Replay.ts"
import type { EventRecord, InstanceKey } from "../store/Commit.ts"
import type { JournalService, OpenedInstance } from "../store/Journal.ts"
import { instancesHeld, recoveries } from "./EngineMetrics.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import { reopening } from "./retryOnNewerSnapshot.ts"
import { instanceAttributes, isTraced, spanned } from "./Tracing.ts"

export class InstanceLoader {
  readonly #journal: JournalService

  constructor(journal: JournalService) {
    this.#journal = journal
  }

  /** Where an instance stands now; undefined where there is none. */
  reload(registered: RegisteredMachine, key: InstanceKey): Effect.Effect<Reloaded | undefined, EventReplayError | PersistenceFailed> {
    return Effect.gen({ self: this }, function* () {
      const found = yield* this.#journal.open(key)
      if (Option.isNone(found)) return undefined
      const { opened, recovered } = yield* this.recover(registered, found.value)
      const { record } = opened
      if (record.status !== "held") return { opened, recovered }
      // It replays again: whatever held it has been repaired.
      const status =
        recovered.stopped !== undefined ? "stopped" : registered.compiled.nodes.get(recovered.state._tag)?.final ? "final" : "running"
      yield* this.#journal.setStatus(record, status, recovered.stopped)
      return { opened: { ...opened, record: { ...record, status, reason: recovered.stopped } }, recovered }
    })
  }

  /**
   * An event that no longer fits holds the instance: it is listed, and nothing is skipped. What a newer version wrote fits there:
   * only this reading fails.
   */
  recover(
    registered: RegisteredMachine,
    found: OpenedInstance,
    journal = this.#journal,
  ): Effect.Effect<Reloaded, EventReplayError | PersistenceFailed> {
    const read = (opened: OpenedInstance) =>
      // What was read ahead belongs to what was found first.
      Effect.map(recover(registered, opened === found ? journal : this.#journal, opened), (recovered) => ({ opened, recovered }))
    const reading = spanned(
      "detent.recover",
      instanceAttributes(found.record),
      Effect.tap(reopening(this.#journal, found, read), tellReached),
    )
    return reading.pipe(
      Effect.tap(() => Metric.update(recoveries, 1)),
      Effect.tapError((error) =>
        error._tag !== "EventReplayError" || error instanceof NewerVersion
          ? Effect.void
          : Effect.andThen(
              // One that has ended stays ended: there is nothing to go on with.
              found.record.status === "running" ? Effect.ignore(this.#journal.setStatus(found.record, "held", error.message)) : Effect.void,
              Effect.andThen(Metric.update(instancesHeld, 1), Effect.logError(error.message)),
            ),
      ),
    )
  }

  /** What the event of a dedupe id came to, if it is journaled. */
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
      return yield* reopening(this.#journal, opened.value, (now) => {
        const isPruned = now.origin === undefined && now.snapshot !== undefined && now.snapshot.sequence >= record.sequence
        return isPruned ? this.#whatIsLeft(registered, now, record) : this.#replayed(registered, now, record.sequence)
      })
    })
  }

  #replayed(
    registered: RegisteredMachine,
    { snapshot, ...opened }: OpenedInstance,
    sequence: number,
  ): Effect.Effect<FirstOutcome | undefined, EventReplayError | PersistenceFailed> {
    return Effect.suspend(() => {
      // The event itself has to be replayed, so a snapshot of what it led to is of no use.
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

  /** The states around a pruned event went with the events before it. Left are its answer, and where the snapshot stands. */
  #whatIsLeft(
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

/** How far it came, and how many events were replayed to get there. */
const tellReached = ({ opened, recovered }: Reloaded): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    if (!isTraced(fiber)) return Effect.void
    const { state, sequence } = recovered
    const replayed = sequence - (opened.snapshot?.sequence ?? 0)
    return Effect.annotateCurrentSpan({ "detent.state": state._tag, "detent.sequence": sequence, "detent.replayed": replayed })
  })

/** A decision as it was made then: nothing of it is to be carried out again. */
const takenAgain = (
  { from, state, event, moved, answer }: Omit<ReplayedEvent, "record">,
  stopped: string | undefined,
): Taken<Tagged, Tagged> => {
  const common = { from, state, event, answer, requests: [], sends: [], through: [], hooks: [], timers: [], guardAnswers: [] }
  if (stopped !== undefined) return { _tag: "Stop", reason: stopped, ...common }
  return { _tag: moved ? "Goto" : "Stay", ...common }
}
