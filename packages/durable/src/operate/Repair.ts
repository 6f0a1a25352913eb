/**
 * Replaces the event that holds an instance, and only that one. The journal keeps the original inside its replacement. The replacement is tried first: the journal is changed only
 * if the instance then replays, or fails at a later event that cannot be decoded, which is another fault and the next to repair.
 *
 * Another node may have the instance in memory, with a definition that fits the replaced event. The replacement changes the revision of
 * the journal: that node stores nothing that it decided on the replaced event, and reads the journal again.
 */
import { EventReplayError, InvalidEvent, NewerVersion } from "@detent/machine"
import { eventProblem, replay, type Tagged } from "@detent/machine/internal"
import type { EventRecord, InstanceKey, JournalService, OpenedInstance } from "@detent/store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { EngineParts } from "../engine/EngineParts.ts"
import { InstanceNotFound, noInstance, RepairRefused } from "../errors.ts"
import type { OpenError } from "../live/InstanceTable.ts"
import type { ReplacedEvent } from "../machine/Codec.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { readEvent, recover } from "../machine/Replay.ts"
import { refreshValues } from "./IndexFilling.ts"

export interface RepairOptions {
  /** Only checks whether the instance would then replay. */
  readonly dryRun?: boolean
  /** Who repairs it, and why: kept in the journal, with the event that is replaced. */
  readonly by?: string
  readonly reason?: string
}

export type RepairError = OpenError | InvalidEvent | RepairRefused

export const repairInstance = (
  engine: EngineParts,
  registered: RegisteredMachine,
  id: string,
  sequence: number,
  event: unknown,
  options: RepairOptions = {},
): Effect.Effect<void, RepairError> =>
  Effect.gen(function* () {
    const { dryRun: isDryRun = false, by, reason } = options
    const key = { machine: registered.name, id }
    const missing = noInstance(key)
    if (missing !== undefined) return yield* Effect.fail(missing)
    if (engine.table.isClosed && !isDryRun) return yield* Effect.fail(engine.table.notWritten(key, "repair"))
    const refuse = (problem: string) => Effect.fail(new RepairRefused({ ...key, sequence: Number(sequence), problem }))
    const invalid = eventProblem(registered.compiled, event)
    if (invalid !== undefined) return yield* Effect.fail(new InvalidEvent({ ...key, event: invalid.event, problem: invalid.problem }))
    const reading = yield* Effect.result(engine.loader.reload(registered, key))
    const opened = Option.getOrUndefined(yield* engine.journal.open(key))
    if (opened === undefined) return yield* Effect.fail(new InstanceNotFound(key))
    const stored = yield* eventAt(engine.journal, key, sequence)
    if (stored === undefined) return yield* refuse(`has no event ${sequence}; ${yield* rangeOf(engine.journal, opened)}`)
    if (reading._tag === "Success") return yield* refuse("is not held: only the event that holds an instance can be repaired")
    const { failure } = reading
    if (failure._tag !== "EventReplayError" || failure instanceof NewerVersion) return yield* Effect.fail(failure)
    if (failure.sequence !== sequence) return yield* refuse(`is held at ${placeOf(failure)}, not by event ${sequence}: ${failure.problem}`)
    const { _tag: tag } = event as Tagged
    const at = Math.floor(yield* registered.environment.clock.currentTimeMillis)
    const replaced = registered.codec.replacing(stored.body, { at, by, reason })
    const repaired = { ...stored, tag, body: yield* bodyOf(engine.journal, registered, opened, stored, event as Tagged, replaced) }
    const still = yield* heldWith(engine.journal, registered, opened, repaired)
    if (still !== undefined) {
      return yield* refuse(`would still be held at sequence ${still.sequence} with ${tag} as event ${sequence}: ${still.problem}`)
    }
    if (isDryRun) return
    const { sequence: reached } = opened.record
    if (!(yield* engine.journal.rewrite({ ...key, sequence: reached }, repaired, stored.body))) {
      // Another node has added events since: the replacement is tried with these.
      const now = yield* eventAt(engine.journal, key, sequence)
      if (now?.body === stored.body) return yield* repairInstance(engine, registered, id, sequence, event, options)
      return yield* refuse(`was repaired by another process meanwhile: event ${sequence} is no longer the one that held it; read it again`)
    }
    yield* refreshValues(engine.journal, registered, id)
    engine.follower.changedForeign(key)
    const live = engine.table.find(key)
    const opening: Effect.Effect<unknown, OpenError> = live === undefined ? engine.table.open(key) : engine.follower.catchUp(live)
    yield* Effect.mapError(opening, (error) =>
      error._tag === "EventReplayError" && !(error instanceof NewerVersion) ? heldNext(error, repaired) : error,
    )
  })

/** The new event with the answers of the guards to it: a replay does not call them. Delayed events that the old event set stay set. */
const bodyOf = (
  journal: JournalService,
  registered: RegisteredMachine,
  opened: OpenedInstance,
  { sequence, at, body }: EventRecord,
  event: Tagged,
  replaced: ReadonlyArray<ReplacedEvent>,
) =>
  Effect.map(recover(registered, journal, opened, sequence - 1), ({ state }) => {
    const decision = replay(registered.compiled, state, event, at, { guardAnswers: [], inlineGuards: true })
    const isTaken = decision._tag === "Goto" || decision._tag === "Stay" || decision._tag === "Stop"
    const { guardAnswers, inlineGuards } = isTaken ? decision : { guardAnswers: [], inlineGuards: false }
    return registered.codec.encodeEvent({
      event,
      guardAnswers,
      inlineGuards,
      settled: undefined,
      answer: undefined,
      ...registered.codec.decodeDelays(body),
      replaced,
    })
  })

/** The error of a later event that now holds the instance. It says that the event before is repaired. */
const heldNext = ({ machine, id, state, event, sequence, problem }: EventReplayError, { tag, ...repaired }: EventRecord) =>
  new EventReplayError({
    machine,
    id,
    state,
    event,
    sequence,
    problem: `${problem}; event ${repaired.sequence} is now ${tag}; repair event ${sequence} next`,
  })

const eventAt = (journal: JournalService, key: InstanceKey, sequence: number) => {
  if (!Number.isSafeInteger(sequence)) return Effect.succeed(undefined)
  return Effect.map(journal.events(key, sequence - 1, 1), ([found]) => (found?.sequence === sequence ? found : undefined))
}

const rangeOf = (journal: JournalService, { record }: OpenedInstance) =>
  Effect.map(journal.events(record, 0, 1), ([first]) =>
    first === undefined ? "its journal has none" : `its journal has ${first.sequence} to ${record.sequence}`,
  )

const placeOf = ({ state, sequence }: EventReplayError): string =>
  state === "(snapshot)" ? "its snapshot" : sequence === 0 ? "its first state" : `event ${sequence}`

/** The error that would hold the instance with the event replaced. Undefined where it replays, or where a later event cannot be decoded. */
const heldWith = (journal: JournalService, registered: RegisteredMachine, opened: OpenedInstance, repaired: EventRecord) =>
  Effect.gen(function* () {
    const events: JournalService["events"] = (key, after, limit) =>
      Effect.map(journal.events(key, after, limit), (page) => page.map((one) => (one.sequence === repaired.sequence ? repaired : one)))
    const result = yield* Effect.result(recover(registered, { ...journal, events }, opened))
    if (result._tag === "Success") return undefined
    const { failure } = result
    if (failure._tag === "PersistenceFailed") return yield* Effect.fail(failure)
    if (failure.sequence <= repaired.sequence) return failure
    const next = yield* eventAt(journal, opened.record, failure.sequence)
    const readable = next === undefined || (yield* Effect.isSuccess(readEvent(registered.codec, opened.record, next)))
    return readable ? failure : undefined
  })
