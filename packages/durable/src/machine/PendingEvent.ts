/** Decisions of an instance that wait to be stored. */
import type { Request, SendError, Taken } from "@detent/machine"
import { commandKey, type GroupNode, isTimerOf, type Node, type Tagged } from "@detent/machine/internal"
import type { CommandRecord, EventRecord, InstanceKey } from "@detent/store"
import type { Codec } from "./Codec.ts"
import { delayedChanges, delayNameOf, delayTimer, type InstanceTimer, isDelayTimer, noTimers } from "./DelayedEvents.ts"
import type { Envelope } from "./Envelope.ts"
import { entriesAfter, type GroupEntries } from "./GroupEntries.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"

/** An event that was accepted. */
export interface PendingEvent {
  readonly _tag: "Accepted"
  readonly envelope: Envelope
  readonly decision: Taken<Tagged, Tagged>
  /** The state it leads to, with its declarations. */
  readonly node: Node
  readonly at: number
  readonly sequence: number
  /** As it will be journaled. Encoded when the event is accepted, so that an event that cannot be encoded is refused then. */
  readonly record: EventRecord
  readonly commands: ReadonlyArray<CommandRecord>
  /** Events that its decision sent. If it is not stored, they are dropped with it. */
  readonly sent: ReadonlyArray<Envelope>
  /** No other event may be decided until its hooks have run, old work has ended and new work has started. */
  readonly isBarrier: boolean
}

/** An event that was refused on the speculative state. Its sender is answered when that state is stored. */
export interface PendingRefusal {
  readonly _tag: "Refused"
  readonly envelope: Envelope
  readonly error: SendError
}

export type Pending = PendingEvent | PendingRefusal

export const isAccepted = (pending: Pending): pending is PendingEvent => pending._tag === "Accepted"

/** Whether the decision enters a state: another one, or the same one again. */
export const entersState = (decision: Taken<Tagged, Tagged>): boolean =>
  decision._tag === "Goto" || (decision._tag === "Stop" && decision.state !== decision.from)

/** With `keepsState`, the event is stored with the outcome of its decision: a replay does not decide again. */
export const eventRecord = (
  codec: Codec,
  envelope: Envelope,
  decision: Taken<Tagged, Tagged>,
  at: number,
  sequence: number,
  keepsState: boolean,
): EventRecord => ({
  sequence,
  at,
  tag: decision.event._tag === "@timeout" ? `(${envelope.timer?.name ?? "timeout"})` : decision.event._tag,
  body: codec.encodeEvent({
    event: decision.event,
    guardAnswers: decision.guardAnswers,
    inlineGuards: decision.inlineGuards,
    settled: keepsState
      ? {
          outcome: decision._tag,
          moved: entersState(decision),
          state: decision.state,
          through: decision.through,
          reason: decision._tag === "Stop" ? decision.reason : undefined,
          sends: decision.sends,
          kept: decision.kept,
          requests: decision.requests.map(({ slot }) => slot),
        }
      : undefined,
    raised: decision.raisedByHooks === true && !keepsState ? decision.sends : undefined,
    answer: decision.answer,
    failure: envelope.failure,
    delays: decision.delays.length === 0 ? undefined : delayedChanges(decision.delays, at),
    fired: delayNameOf(envelope.timer),
    by: envelope.by,
    trace: envelope.trace?.context,
  }),
  dedupeId: envelope.dedupeId,
  isFirst: envelope.isFirst ? true : undefined,
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

type TimersByName = ReadonlyMap<string, InstanceTimer>

/** The timers of an instance after an event. */
export const timersAfter = (
  before: TimersByName,
  pending: Pick<PendingEvent, "decision" | "node" | "at" | "sequence"> & { readonly envelope: Pick<Envelope, "timer"> },
): TimersByName => {
  const { decision, envelope, node, at, sequence } = pending
  const changes = decision._tag !== "Stay" || envelope.timer !== undefined || decision.timers.length > 0 || decision.delays.length > 0
  if (!changes) return before
  if (decision._tag === "Stop" || node.final) return noTimers
  if (before.size === 0 && decision.timers.length === 0 && decision.delays.length === 0) return noTimers
  const after = new Map(decision._tag === "Stay" ? before : lastingOf(before, keptOf(pending)))
  if (envelope.timer !== undefined) after.delete(envelope.timer.name)
  for (const { name, millis } of decision.timers) {
    // An earlier version of the machine may have stored the same timer under another name.
    if (after.size > 0) for (const former of node.timeouts.get(name)?.former ?? noNames) after.delete(former)
    if (millis === Number.POSITIVE_INFINITY) after.delete(name)
    else after.set(name, { name, entry: sequence, due: at + millis })
  }
  for (const { name, due, event } of delayedChanges(decision.delays, at)) {
    const timer = delayTimer(name)
    if (due === undefined) after.delete(timer)
    else after.set(timer, { name: timer, entry: sequence, due, event })
  }
  return after.size === 0 ? noTimers : after
}

const noNames: ReadonlyArray<string> = []

/** The groups around the new state that the event did not leave. */
export const keptOf = ({ decision, node }: Pick<PendingEvent, "decision" | "node">): ReadonlyArray<GroupNode> =>
  decision.kept === undefined || decision.kept === 0 ? noGroups : node.groups.slice(0, decision.kept)

const noGroups: ReadonlyArray<GroupNode> = []

/** The timers that remain when a state is left: delayed events, and the timeouts of groups that were not left. */
const lastingOf = (timers: TimersByName, groups: ReadonlyArray<GroupNode>): TimersByName =>
  timers.size === 0
    ? noTimers
    : new Map([...timers].filter(([name, timer]) => isDelayTimer(timer) || groups.some((group) => isTimerOf(group, name))))

/**
 * The state on which the next decision is made: the stored state, or a state ahead of it. An instance may decide on top of its own
 * uncommitted decisions; if a commit fails, they are dropped and made again.
 */
export interface SpeculativeState {
  readonly state: Tagged
  readonly node: Node
  readonly sequence: number
  readonly timers: ReadonlyMap<string, InstanceTimer>
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
  readonly groups: GroupEntries
}

export const stateAfter = (before: SpeculativeState, pending: PendingEvent): SpeculativeState => {
  const { decision, sequence, node } = pending
  const { state, from, through } = decision
  const timers = timersAfter(before.timers, pending)
  return entersState(decision)
    ? {
        state,
        node,
        sequence,
        timers,
        previous: through.at(-1) ?? from,
        entered: sequence,
        groups: entriesAfter(before.groups, node, decision.kept ?? 0, sequence),
      }
    : { state, node, sequence, timers, previous: before.previous, entered: before.entered, groups: before.groups }
}
