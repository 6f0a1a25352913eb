/** What was decided for an instance and waits to be stored. */
import type { Request, SendError, Taken } from "@detent/machine"
import { commandKey, type Tagged } from "@detent/machine/internal"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import type { CommandRecord, EventRecord, InstanceKey, TimerRecord } from "../store/Commit.ts"
import type { Codec } from "./Codec.ts"
import type { Envelope } from "./Envelope.ts"

/** An event that was accepted. */
export interface AcceptedStep {
  readonly _tag: "Accepted"
  readonly envelope: Envelope
  readonly decision: Taken<Tagged, Tagged>
  readonly at: number
  readonly sequence: number
  /** As it will be journaled. Made when it is accepted, so that what cannot be written is refused there and then. */
  readonly record: EventRecord
  readonly commands: ReadonlyArray<CommandRecord>
  /** What its decision sent. Until it is stored, those events stand and fall with it. */
  readonly raised: ReadonlyArray<Envelope>
  /** Nothing may be decided until all that follows from it is done: hooks, the end of work, the start of work. */
  readonly barrier: boolean
}

/** An event that was refused on the strength of states that are not stored yet: told only once they are. */
export interface RefusedStep {
  readonly _tag: "Refused"
  readonly envelope: Envelope
  readonly error: SendError
}

export type Step = AcceptedStep | RefusedStep

/** Whether the state was entered: another one, or the same anew. */
export const hasMoved = (decision: Taken<Tagged, Tagged>): boolean =>
  decision._tag === "Goto" || (decision._tag === "Stop" && decision.state !== decision.from)

/** An effectful decision is stored with what it came to: it is not asked again. */
export const eventRecord = (
  codec: Codec,
  envelope: Envelope,
  decision: Taken<Tagged, Tagged>,
  at: number,
  sequence: number,
  effectful: boolean,
): EventRecord => ({
  sequence,
  at,
  tag: decision.event._tag === "@timeout" ? `(${envelope.timer?.name ?? "timeout"})` : decision.event._tag,
  body: codec.encodeEvent({
    event: decision.event,
    guardAnswers: decision.guardAnswers,
    inlineGuards: decision.inlineGuards,
    settled: effectful
      ? {
          outcome: decision._tag,
          moved: hasMoved(decision),
          state: decision.state,
          through: decision.through,
          reason: decision._tag === "Stop" ? decision.reason : undefined,
          sends: decision.sends,
        }
      : undefined,
    answer: decision.answer,
    failure: envelope.failure,
  }),
  dedupeId: envelope.dedupeId,
})

export const commandRecords = (
  registered: RegisteredMachine,
  { machine, id }: InstanceKey,
  requests: ReadonlyArray<Request>,
  sequence: number,
): ReadonlyArray<CommandRecord> =>
  requests.length === 0
    ? noCommands
    : requests.map(({ slot, parameters }, index) => ({
        key: commandKey(machine, id, sequence, index),
        slot,
        parameters: registered.codec.encodeParameters(slot, parameters),
        sequence,
        ...registered.placeOf(slot),
      }))

const noCommands: ReadonlyArray<CommandRecord> = []

/** The timers of an instance after a step. */
export const timersAfter = (
  before: ReadonlyMap<string, TimerRecord>,
  step: Pick<AcceptedStep, "decision" | "envelope" | "at" | "sequence">,
): ReadonlyMap<string, TimerRecord> => {
  const { decision, envelope, at, sequence } = step
  const changes = decision._tag !== "Stay" || envelope.timer !== undefined || decision.timers.length > 0
  if (!changes) return before
  if (decision._tag === "Stop" || (decision._tag === "Goto" && decision.timers.length === 0)) return noTimers
  const after = new Map(decision._tag === "Stay" ? before : noTimers)
  if (envelope.timer !== undefined) after.delete(envelope.timer.name)
  for (const { name, millis } of decision.timers) {
    if (millis === Number.POSITIVE_INFINITY) after.delete(name)
    else after.set(name, { name, entry: sequence, due: at + millis })
  }
  return after
}

const noTimers: ReadonlyMap<string, TimerRecord> = new Map()
