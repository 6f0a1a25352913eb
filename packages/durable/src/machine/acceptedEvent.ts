/** Builds what an accepted decision stores: its event, its commands, and the events that it sends. */
import { EndlessTransition, InvalidEvent, type SendError, type Taken } from "@detent/machine"
import { type ActorState, actionFailed, type Chain, hasWork, type Node, reportRefusal, type Tagged } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { Envelope } from "./Envelope.ts"
import type { Limits } from "./InstanceCommit.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import { commandRecords, eventRecord, type PendingEvent, type SpeculativeState } from "./PendingEvent.ts"
import { raisedId } from "./SelfSentEvents.ts"

/** The instance that decides. */
export interface DecidingInstance {
  readonly key: InstanceKey
  readonly machine: RegisteredMachine
  readonly record: ActorState
  readonly limits: Limits
}

/** A decision on the state ahead, not yet stored. */
export interface Accepting {
  readonly ahead: SpeculativeState
  readonly envelope: Envelope
  readonly decision: Taken<Tagged, Tagged>
  readonly at: number
  /** The chain of the events that it sends; undefined where it sends none. */
  readonly chain: Chain | undefined
  /** The event is stored with its outcome: a replay does not decide it again. */
  readonly keepsState: boolean
  /** Whether anything runs that must end when the state is left. */
  readonly hasScope: boolean
}

const none: ReadonlyArray<never> = []

/** The accepted event as it will be stored, or the error why it cannot be stored. */
export const acceptedEvent = (
  { key, machine, record: actor, limits }: DecidingInstance,
  { ahead, envelope, decision, at, chain, keepsState, hasScope }: Accepting,
): PendingEvent | SendError => {
  const { state } = ahead
  const sequence = ahead.sequence + 1
  const node = decision.state === state ? ahead.node : (actor.compiled.nodes.get(decision.state._tag) as Node)
  try {
    const problem =
      decision.state === state
        ? undefined
        : (machine.codec.stateProblem(decision.state, state) ?? machine.indexes?.problem(decision.state, state))
    if (problem !== undefined) return actionFailed(actor, "decide", new Error(problem), decision.event, false)
    const record = eventRecord(machine.codec, envelope, decision, at, sequence, keepsState)
    const commands = commandRecords(machine, key, decision.requests, sequence)
    const large = sizeProblem(record.body.length, commands, limits.eventSize)
    if (large !== undefined) return new InvalidEvent({ ...key, event: labelOf(envelope, decision), ...large })
    const sent = chain === undefined ? none : decision.sends.map((event, index) => selfSent(actor, event, chain, sequence, index))
    for (const one of sent) one.isSpeculative = true
    const isBarrier = takesTime(decision, node, hasScope)
    return { _tag: "Accepted", envelope, decision, node, at, sequence, record, commands, sent, isBarrier }
  } catch (cause) {
    return actionFailed(actor, "decide", cause, decision.event, false)
  }
}

/** Whether carrying a decision out may take longer than replacing the state. */
const takesTime = (decision: Taken<Tagged, Tagged>, node: Node, hasScope: boolean): boolean => {
  if (decision.hooks.length > 0 || decision._tag === "Stop") return true
  return decision._tag === "Goto" && (node.final || hasWork(node, decision.state) || hasScope)
}

const sizeProblem = (
  size: number,
  commands: PendingEvent["commands"],
  limit: number,
): Pick<InvalidEvent, "problem" | "size" | "limit"> | undefined => {
  if (size > limit) {
    const problem = `it takes ${size} characters as JSON, the limit is ${limit}; store large content elsewhere and send a reference`
    return { problem, size, limit }
  }
  const large = commands.find(({ parameters }) => parameters.length > limit)
  if (large === undefined) return undefined
  const { slot, parameters } = large
  const problem = `the parameters of ${slot} take ${parameters.length} characters as JSON, the limit is ${limit}; pass a reference`
  return { problem, size: parameters.length, limit }
}

/** An event that a decision sends to its own instance. No caller waits for it: a refusal is logged. */
export const selfSent = (actor: ActorState, event: Tagged, chain: Chain, sequence: number, index: number): Envelope => {
  const sent = new Envelope(event, { chain, dedupeId: raisedId(sequence, index) })
  sent.observer = (result) => reportRefusal(actor, result)
  return sent
}

/** The error of a chain of self-sent events that does not end. */
export const endlessChain = (key: InstanceKey, envelope: Envelope, decision: Taken<Tagged, Tagged>, { path }: Chain): EndlessTransition =>
  new EndlessTransition({ ...key, state: decision.from._tag, event: labelOf(envelope, decision), path, chain: "raised events" })

/** The name of an event, or of the timer that it comes from. */
export const labelOf = ({ timer }: Envelope, { event }: Taken<Tagged, Tagged>): string =>
  timer === undefined || event._tag !== "@timeout" ? event._tag : `(${timer.name})`
