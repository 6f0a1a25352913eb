/**
 * How far a live instance has come: what its journal has of it, and the state ahead of that, on which the next event is decided.
 *
 * Memory moves by two ways only: `stored`, `carriedOut` and `committed` apply a commit of this node, `adopt`, `moveTo` and `take` what was
 * read. Others read its fields, and only its methods change them.
 */
import type { Taken } from "@detent/machine"
import type { ActorState, GroupNode, Tagged } from "@detent/machine/internal"
import type { Commit, InstanceKey, InstanceRecord, InstanceStanding, OpenedInstance, SnapshotRecord, TimerRecord } from "@detent/store"
import { type DelayedEvent, delayedOf, type InstanceTimer, timersByName } from "../machine/DelayedEvents.ts"
import { entriesAfter, type GroupEntries } from "../machine/GroupEntries.ts"
import type { StoredPosition } from "../machine/InstanceCommit.ts"
import type { RegisteredMachine } from "../machine/MachineRegistry.ts"
import { entersState, type PendingEvent, type SpeculativeState, stateAfter, timersAfter } from "../machine/PendingEvent.ts"
import type { Recovered } from "../machine/Replay.ts"
import { isOwedTimer } from "../machine/SelfSentEvents.ts"
import { encodeSnapshot, type Moment } from "../machine/SnapshotBody.ts"
import type { Reloaded } from "./InstanceContext.ts"

type Timers = ReadonlyMap<string, InstanceTimer>

export class InstancePosition implements StoredPosition {
  readonly key: InstanceKey
  readonly #record: ActorState
  /** The sequence at which the current state was entered. */
  #entered: number
  /** The same for the groups around the current state. */
  #groups: GroupEntries
  /** How often events of its journal were rewritten, when it was read. */
  revision: number
  /** Of the stored state, by name. */
  timers: Timers
  /** The timer row of self-sent events that are stored and not handled yet. */
  owed: TimerRecord | undefined
  lastSnapshot: Moment | undefined
  fields: string | undefined
  /** The journal is pruned up to this sequence. */
  prunedThrough = 0
  /** The state on which the next event is decided. */
  ahead: SpeculativeState

  constructor(key: InstanceKey, record: ActorState, { opened, recovered }: Reloaded) {
    this.key = key
    this.#record = record
    record.lastTransitionAt = recovered.at
    record.sequence = recovered.sequence
    record.place(recovered.state, recovered.past)
    this.#entered = recovered.entered
    this.#groups = recovered.groups
    this.revision = revisionOf(opened.record)
    this.timers = timersByName(opened.timers, recovered.delayed)
    this.owed = opened.timers.find(isOwedTimer)
    this.lastSnapshot = momentOf(opened.snapshot)
    this.fields = opened.record.fields
    this.ahead = this.#storedState()
  }

  get sequence(): number {
    return this.#record.sequence
  }

  get startedAt(): number {
    return this.#record.startedAt
  }

  /** The delayed events of the stored state that wait. */
  get delayed(): ReadonlyArray<DelayedEvent> {
    return delayedOf(this.timers.values())
  }

  /** Whether the stored state still has this timer, set at the same sequence. */
  hasTimer({ name, entry }: TimerRecord): boolean {
    return this.timers.get(name)?.entry === entry
  }

  /** A snapshot of the stored state. State and sequence are read in one turn of the event loop, so they belong together. */
  snapshot({ codec, version }: RegisteredMachine): SnapshotRecord {
    const { currentState: state, past, sequence, lastTransitionAt: at } = this.#record
    const body = encodeSnapshot(codec, {
      state,
      previous: past?.at(-1),
      entered: this.#entered,
      groups: this.#groups,
      delayed: this.delayed,
    })
    return { sequence, at, version, body }
  }

  /** Whether the store has further events, or events were rewritten since it was read. */
  isBehind(stored: Pick<InstanceStanding, "sequence" | "revision">): boolean {
    const revision = revisionOf(stored)
    return revision === this.revision ? stored.sequence > this.#record.sequence : revision > this.revision
  }

  /** The sequence in the store; -1 if an event was rewritten, or the instance was removed, even if another one was started under its id since. */
  sequenceIn(stored: InstanceRecord | undefined): number {
    return stored?.startedAt === this.#record.startedAt && revisionOf(stored) === this.revision ? stored.sequence : -1
  }

  // Decisions of this node

  /** An event was decided. Its decision is not stored yet. */
  decided(pending: PendingEvent) {
    this.ahead = stateAfter(this.ahead, pending)
  }

  /** These decisions are ahead of the stored state, and no others. */
  rebase(pending: ReadonlyArray<PendingEvent>) {
    this.ahead = pending.reduce(stateAfter, this.#storedState())
  }

  /** A decision is stored: its timers count from now on. */
  stored(pending: PendingEvent) {
    this.timers = timersAfter(this.timers, pending)
  }

  /** A stored decision becomes visible. Returns whether the state changed or was entered again. */
  carriedOut(decision: Taken<Tagged, Tagged>, at: number): boolean {
    const record = this.#record
    const changed = record.advance(decision, at)
    if (entersState(decision)) {
      this.#entered = record.sequence
      this.#groups = entriesAfter(this.#groups, record.node, decision.kept ?? 0, record.sequence)
    }
    return changed
  }

  /** The rest of a stored commit. */
  committed({ setTimers, snapshot, fields }: Commit) {
    if (fields !== undefined) this.fields = fields
    if (this.owed !== undefined || setTimers.length > 0) this.owed = setTimers.find(isOwedTimer)
    if (snapshot !== undefined) this.lastSnapshot = momentOf(snapshot)
  }

  /** The journal is pruned up to this sequence. */
  pruned(through: number) {
    this.prunedThrough = through
  }

  /** A timer was refused: it does not fire again. */
  removeTimer(timer: TimerRecord) {
    const without = (timers: Timers) => new Map([...timers].filter(([, one]) => one.entry !== timer.entry || one.name !== timer.name))
    this.timers = without(this.timers)
    this.ahead = { ...this.ahead, timers: without(this.ahead.timers) }
  }

  /** No self-sent event has to be handled any more. */
  removeOwed() {
    this.owed = undefined
  }

  // What was read from the journal

  /** Whether memory does not have the state that was read. */
  differsFrom({ opened, recovered }: Reloaded): boolean {
    return recovered.sequence !== this.#record.sequence || this.differsInRevision(opened.record)
  }

  /** Whether events were rewritten since memory has read them. */
  differsInRevision(stored: InstanceRecord): boolean {
    return revisionOf(stored) !== this.revision
  }

  /** Takes over the sequence, without the timers: for an instance that decides nothing here. */
  advanceTo({ sequence, at }: Recovered) {
    this.#record.sequence = sequence
    this.#record.lastTransitionAt = at
  }

  /** Takes over all but the state, which `moveTo` takes over. */
  adopt({ opened, recovered }: Reloaded) {
    this.advanceTo(recovered)
    this.timers = timersByName(opened.timers, recovered.delayed)
    this.take(opened)
  }

  /** Takes over what a commit of this node has set, whose outcome was read from the journal. */
  take({ record, snapshot, timers }: OpenedInstance) {
    this.owed = timers.find(isOwedTimer)
    this.lastSnapshot = momentOf(snapshot) ?? this.lastSnapshot
    this.fields = record.fields
  }

  /**
   * The groups around the state that was read which were not left since; undefined if the current state was not left either. If events were
   * rewritten, everything was left.
   */
  keptIn({ state, entered, groups }: Recovered, stored: InstanceRecord): ReadonlyArray<GroupNode> | undefined {
    if (this.differsInRevision(stored)) return none
    if (entered <= this.#entered) return undefined
    const around = this.#record.compiled.nodes.get(state._tag)?.groups ?? none
    return around.filter(({ name }) => groups.get(name) === this.#groups.get(name))
  }

  /** Moves to the state that was read. */
  moveTo({ state, past, entered, groups }: Recovered, stored: InstanceRecord) {
    this.#record.place(state, past)
    this.#entered = entered
    this.#groups = groups
    this.revision = revisionOf(stored)
  }

  #storedState(): SpeculativeState {
    const { currentState: state, node, sequence, past } = this.#record
    return { state, node, sequence, timers: this.timers, previous: past?.at(-1), entered: this.#entered, groups: this.#groups }
  }
}

const none: ReadonlyArray<never> = []

const revisionOf = ({ revision = 0 }: Pick<InstanceStanding, "revision">): number => revision

/** Without the body of the snapshot, which memory does not need. */
const momentOf = (snapshot: SnapshotRecord | undefined): Moment | undefined =>
  snapshot === undefined ? undefined : { sequence: snapshot.sequence, at: snapshot.at }
