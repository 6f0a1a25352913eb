/** Builds the commit of accepted events: the events with their snapshot, timers, commands, summary and fence. */

import { explainWithFrames, hasWorkIn } from "@detent/machine/internal"
import type { Commit, Fence, InstanceKey, JournalService, SnapshotRecord, TimerRecord } from "@detent/store"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { PlacementService } from "../nodes/Placement.ts"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import { delayedOf, type InstanceTimer } from "./DelayedEvents.ts"
import type { RegisteredMachine } from "./MachineRegistry.ts"
import { entersState, keptOf, type PendingEvent, type SpeculativeState, timersAfter } from "./PendingEvent.ts"
import { owedName, owedTimer } from "./SelfSentEvents.ts"
import { encodeSnapshot, type Moment, snapshotDue } from "./SnapshotBody.ts"

/** Limits of an instance. Larger events and first states are refused before anything is stored; larger snapshots are left out. */
export interface Limits {
  /** Characters of an encoded event, and of its command parameters. */
  readonly eventSize: number
  /** Characters of an encoded state. */
  readonly stateSize: number
  /** Events that wait for one instance. */
  readonly mailbox: number
  readonly instances: number
}

/** The parts of the engine that commits of instances use. */
export interface CommitContext {
  readonly journal: JournalService
  readonly groupCommit: GroupCommit
  readonly limits: Limits
  /** The node that runs state work here; undefined for an engine that only observes. */
  readonly placement: PlacementService | undefined
  /** The schedule of retries after the store failed. Ends when callers get the error. */
  readonly storeRetry: Schedule.Schedule<unknown>
}

type TimersByName = ReadonlyMap<string, InstanceTimer>

/** The instance as it is stored, before the events. */
export interface StoredPosition {
  readonly key: InstanceKey
  readonly sequence: number
  readonly timers: TimersByName
  /** The timer row of self-sent events that are not handled yet. */
  readonly owed: TimerRecord | undefined
  readonly lastSnapshot: Moment | undefined
  readonly startedAt: number
  /** How often events of its journal were rewritten. */
  readonly revision: number
  /** The values of its indexed fields, as JSON. */
  readonly fields: string | undefined
}

/** Who may commit to the instance. */
export interface CommitRights {
  /** Whether its state has work. */
  readonly needsOwner: boolean
  /** Whether this node runs that work. */
  readonly isOwner: boolean
  /** This node has lost the instance: its commits are refused, even under a new lease of the node. */
  readonly isLost: boolean
  readonly lockFence: Fence | undefined
}

/** The fence of a node that has lost its lease. Every store refuses it. */
const lostFence: Fence = { lease: "(lost)", token: 0 }

const none: ReadonlyArray<never> = []

const fenceOf = (placement: CommitContext["placement"]): Fence => placement?.fence() ?? lostFence

/**
 * `ahead` is the state after the events; undefined while self-sent events are not journaled yet, which a snapshot would hide. `owes`: some
 * of them have to be handled after this commit.
 */
export const instanceCommit = (
  { placement, limits }: Pick<CommitContext, "placement" | "limits">,
  machine: RegisteredMachine,
  stored: StoredPosition,
  rights: CommitRights,
  accepted: ReadonlyArray<PendingEvent>,
  last: PendingEvent,
  ahead: SpeculativeState | undefined,
  owes: boolean,
): Commit => {
  const { decision, node, sequence, at } = last
  const { key, timers: before } = stored
  let timers = before
  for (const one of accepted) timers = timersAfter(timers, one)
  const isRunning = decision._tag !== "Stop" && !node.final
  const needsOwner = isRunning && machine.hasWork(node, decision.state)
  // Work of a group that is not left stays where it runs.
  const begins = (one: PendingEvent) => entersState(one.decision) && !hasWorkIn(keptOf(one), one.decision.state)
  const becomesOwner = needsOwner && machine.runsWork && (!rights.needsOwner || accepted.some(begins))
  const cleared = timers === before ? none : clearedBetween(before, timers)
  const set = timers === before || timers.size === 0 ? none : setBetween(before, timers)
  const isOwing = owes && isRunning
  const isDue = ahead !== undefined && snapshotDue(machine.snapshots, stored, last, accepted)
  return {
    machine: key.machine,
    id: key.id,
    expected: stored.sequence,
    startedAt: stored.startedAt,
    revision: stored.revision === 0 ? undefined : stored.revision,
    sequence,
    at,
    summary: {
      tag: node.tag,
      status: decision._tag === "Stop" ? "stopped" : node.final ? "final" : "running",
      reason: decision._tag === "Stop" ? decision.reason : undefined,
      version: machine.version,
      needsOwner,
      owner: becomesOwner ? placement?.node() : undefined,
      owes: false,
    },
    origin: undefined,
    events: accepted.length === 1 ? [last.record] : accepted.map((one) => one.record),
    snapshot: isDue ? snapshotOf(machine, key, last, ahead, limits.stateSize) : undefined,
    clearTimers: stored.owed !== undefined && !isOwing ? [...cleared, owedName] : cleared,
    setTimers: isOwing ? [...set, owedTimer(sequence, at)] : set,
    commands: accepted.length === 1 ? last.commands : accepted.flatMap((one) => one.commands),
    fence:
      rights.lockFence ??
      (becomesOwner || rights.isOwner || placement?.routing !== undefined ? fenceOf(rights.isLost ? undefined : placement) : undefined),
    fields: machine.indexes === undefined ? undefined : changedFields(machine.indexes.encode(decision.state), stored.fields),
  }
}

const changedFields = (fields: string, before: string | undefined): string | undefined => (fields === before ? undefined : fields)

/** Undefined for a state that cannot be encoded or is too large: the event that led to it is stored without a snapshot. */
const snapshotOf = (
  machine: RegisteredMachine,
  key: InstanceKey,
  { sequence, at }: PendingEvent,
  ahead: SpeculativeState,
  stateSize: number,
): SnapshotRecord | undefined => {
  const warn = (problem: string) => {
    machine.environment.run(Effect.logError(`${key.machine} ${key.id}: no snapshot at ${sequence}: ${problem}`))
    return undefined
  }
  try {
    const body = encodeSnapshot(machine.codec, { ...ahead, delayed: delayedOf(ahead.timers.values()) })
    if (body.length > stateSize) return warn(`its state takes ${body.length} characters as JSON, the limit is ${stateSize}`)
    return { sequence, at, version: machine.version, body }
  } catch (cause) {
    return warn(`its state cannot be encoded: ${explainWithFrames(cause)}`)
  }
}

const clearedBetween = (before: TimersByName, after: TimersByName): ReadonlyArray<string> =>
  after.size === 0 ? [...before.keys()] : [...before.keys()].filter((name) => !after.has(name))

const setBetween = (before: TimersByName, after: TimersByName): ReadonlyArray<InstanceTimer> =>
  [...after.values()].filter((timer) => before.get(timer.name)?.entry !== timer.entry)
