/** Where a durable instance stands: what is stored, what is decided ahead of that, and what it still owes to others or itself. */

import type { SendError, Taken } from "@detent/machine"
import { Mailbox, type Node, type Result, refusal, report, stale, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { eventsRefused, eventsRepeated, record } from "../engine/EngineMetrics.ts"
import type { HeldLock } from "../engine/InstanceLock.ts"
import type { RegisteredMachine } from "../engine/MachineRegistry.ts"
import type { Committing, Doubtful } from "../runtime/GroupCommit.ts"
import type { Commit, CommitOutcome, SnapshotRecord, TimerRecord } from "../store/Commit.ts"
import type { OpenedInstance } from "../store/Journal.ts"
import { Envelope } from "./Envelope.ts"
import { idTaken, isIdOfAnother } from "./IdTaken.ts"
import type { FirstOutcome, InstanceContext, Reloaded } from "./InstanceContext.ts"
import { InstanceLife } from "./InstanceLife.ts"
import { isUndecided } from "./isTransient.ts"
import { isRaisedId, type OwedEvent } from "./SelfSentEvents.ts"
import { encodeSnapshot } from "./SnapshotBody.ts"
import { type AcceptedStep, hasMoved, type Step, timersAfter } from "./Step.ts"

/** Where an instance stands, stored or not. */
export interface Standing {
  readonly state: Tagged
  readonly node: Node
  readonly sequence: number
  readonly timers: ReadonlyMap<string, TimerRecord>
  readonly previous: Tagged | undefined
  /** The sequence at which the state was entered. */
  readonly entered: number
}

export const none: ReadonlyArray<never> = []
/** What the store or a lock stood in the way of is tried again after so long. */
const pauseMillis = 1000

export abstract class InstanceStanding extends InstanceLife implements Committing {
  abstract takeCommit(): Commit | undefined
  abstract committed(outcome: CommitOutcome | Doubtful): void

  /** What decisions are made on: the stored standing, or ahead of it. */
  protected ahead: Standing

  protected storedTimers: ReadonlyMap<string, TimerRecord>

  protected lastSnapshot: { readonly sequence: number; readonly at: number }

  /** Decided and waiting for the next flush. */
  protected steps: Array<Step> = []

  /** On their way to the store. */
  protected flight: ReadonlyArray<Step> | undefined = undefined

  protected inLine = false

  protected mailbox: Mailbox<Envelope> | undefined = undefined

  protected postponed: Array<Envelope> | undefined = undefined

  protected ids: Map<string, Envelope> | undefined = undefined

  /** Timers that were told of and may not be over yet. */
  protected firing: ReadonlyArray<Envelope> = none

  protected lock: HeldLock | undefined = undefined

  protected owed: Set<Envelope> | undefined = undefined

  protected snapshotInFlight: SnapshotRecord | undefined = undefined

  /** What comes next must not be decided before all that came earlier is stored. */
  protected awaitsStore = false

  /** Since when, and how often, the store has failed at what this instance wanted to store. */
  protected failing: { readonly since: number; readonly times: number } | undefined = undefined

  /** Flights that the store failed at. One of them may still arrive, as long as the instance stands where they began. */
  protected doubted: ReadonlyArray<ReadonlyArray<AcceptedStep>> | undefined = undefined

  /** Answers found in the journal that memory is not as far as yet. */
  protected known: Array<{ readonly envelope: Envelope; readonly first: FirstOutcome }> | undefined = undefined

  /** Up to here no events are left to prune. */
  protected prunedThrough = 0

  /** Turned by every event: tells when the instance was last used. */
  lastUsedAt: number

  constructor(keeper: InstanceContext, registered: RegisteredMachine, { opened, recovered }: Reloaded) {
    const { record } = opened
    super(keeper, registered, record.id, recovered.state, record.startedAt)
    this.lastUsedAt = this.environment.clock.currentTimeMillisUnsafe()
    this.lastTransitionAt = recovered.at
    this.sequence = recovered.sequence
    this.place(recovered.state, recovered.past)
    this.entered = recovered.entered
    this.storedTimers = new Map(opened.timers.map((timer) => [timer.name, timer]))
    this.lastSnapshot = opened.snapshot ?? { sequence: 0, at: record.startedAt }
    this.ahead = this.standing()
  }

  protected nodeAfter(before: Standing, { state }: Taken<Tagged, Tagged>): Node {
    return state === before.state ? before.node : (this.compiled.nodes.get(state._tag) as Node)
  }

  /** Where a step leads from where the instance stands. */
  protected standingAfter(before: Standing, step: AcceptedStep, node: Node): Standing {
    const { decision, sequence } = step
    const { state, from, through } = decision
    const timers = timersAfter(before.timers, step)
    return hasMoved(decision)
      ? { state, node, sequence, timers, previous: through.at(-1) ?? from, entered: sequence }
      : { state, node, sequence, timers, previous: before.previous, entered: before.entered }
  }

  protected standing(): Standing {
    const { currentState: state, node, sequence, storedTimers: timers, entered } = this
    return { state, node, sequence, timers, previous: this.past?.at(-1), entered }
  }

  /** Nothing is under way, and nobody listens: it can be forgotten until somebody asks for it again. */
  get isIdle(): boolean {
    return !this.isBusy && this.steps.length === 0 && this.flight === undefined && this.lock === undefined && this.postponed === undefined
  }

  /** The machine sent itself events that are not decided yet. A snapshot would hide where they come from. */
  get owesEvents(): boolean {
    return this.owed !== undefined && this.owed.size > 0
  }

  /** The same by the journal: what is decided and not stored yet is still owed. */
  get owesStoredEvents(): boolean {
    return this.owesEvents || [...(this.flight ?? []), ...this.steps].some(({ envelope }) => isRaisedId(envelope.dedupeId))
  }

  /** Whether a timer of the stored state is still the one of that entry. */
  hasTimer({ name, entry }: TimerRecord): boolean {
    return this.storedTimers.get(name)?.entry === entry
  }

  /** How far memory is. */
  get reached(): number {
    return this.sequence
  }

  /** Nobody else can write to it. */
  get isLocked(): boolean {
    return this.lock !== undefined
  }

  /** Something is on its way to the store, or has just been stored and is not to be seen yet. */
  get isCommitting(): boolean {
    return this.isAhead || this.isBlocked
  }

  /** Where it stands, as a store keeps it. */
  snapshotRecord(): SnapshotRecord {
    const { version, codec } = this.registered
    const { currentState: state, entered, sequence, lastTransitionAt: at } = this
    return { sequence, at, version, body: encodeSnapshot(codec, { state, previous: this.past?.at(-1), entered }) }
  }

  /** All that was accepted is stored and carried out. */
  get isSettled(): boolean {
    return this.steps.length === 0 && this.flight === undefined && !this.isBusy
  }

  /** The journal says that it has ended: it can be looked at, and refuses events with the reason. */
  conclude({ record }: OpenedInstance) {
    const state = this.currentState
    this.ending =
      record.status === "final" ? { _tag: "Final", state } : { _tag: "Stopped", state, reason: record.reason ?? "it was stopped" }
  }

  /** Decisions have been made that are not stored. */
  protected get isAhead(): boolean {
    return this.steps.length > 0 || this.flight !== undefined
  }

  /** An event sent again under its id is answered with what it first came to, whatever state the instance is in by now. */
  protected answer(envelope: Envelope, otherwise: SendError) {
    const { dedupeId, timer } = envelope
    if (timer !== undefined) this.timerRefused(timer, otherwise)
    if (dedupeId === undefined) return this.refused(envelope, otherwise)
    this.environment.run(
      Effect.match(this.keeper.firstOutcome(this.registered, this.key, dedupeId), {
        onFailure: (failure) => this.giveUp(envelope, failure),
        onSuccess: (first) => {
          if (first === undefined) this.refused(envelope, otherwise)
          else this.tellFirst(envelope, first)
        },
      }),
    )
  }

  protected refused(envelope: Envelope, error: SendError) {
    record(eventsRefused, 1, this.environment)
    this.complete(envelope, refusal(this, envelope.event, error))
  }

  /** Whoever was told of an event must not then read a state without it. */
  protected tellFirst(envelope: Envelope, first: FirstOutcome) {
    const other = first.taken.event
    if (isIdOfAnother(envelope, other)) return this.refused(envelope, idTaken(this.key, envelope, `event ${first.sequence}, ${other._tag}`))
    record(eventsRepeated, 1, this.environment)
    if (this.ending !== undefined || first.sequence <= this.sequence) return this.complete(envelope, first.taken)
    this.known ??= []
    this.known.push({ envelope, first })
    this.pump()
  }

  /** Tells what memory has caught up with. Where others have gone further, the journal is read. */
  protected catchUp() {
    const known = this.known ?? []
    const late = known.filter(({ first }) => first.sequence > this.sequence)
    this.known = late.length === 0 ? undefined : late
    for (const { envelope, first } of known) if (first.sequence <= this.sequence) this.complete(envelope, first.taken)
    if (late.length > 0) this.refresh()
  }

  /** Nothing more is to be caught up with. */
  protected tellAllKnown() {
    const { known } = this
    if (known === undefined) return
    this.known = undefined
    for (const { envelope, first } of known) this.complete(envelope, first.taken)
  }

  /** Another node has gone further: the journal is read before anything else is decided. */
  abstract refresh(): void

  /** The store or a lock stood in the way of an event. What the instance sent itself nobody else would send: it is tried again. */
  protected giveUp(envelope: Envelope, error: SendError) {
    if (!envelope.isOwn || this.ending !== undefined || !isUndecided(error)) return this.complete(envelope, error)
    this.mailbox ??= new Mailbox()
    this.mailbox.unshift([envelope])
    this.pause()
  }

  /** Decides nothing for a while: whoever is in the way is given time. */
  protected pause(millis = pauseMillis) {
    this.later(Effect.sleep(millis), () => undefined)
  }

  protected complete(envelope: Envelope, result: Result) {
    if (envelope.dedupeId !== undefined && this.ids?.get(envelope.dedupeId) === envelope) this.ids.delete(envelope.dedupeId)
    envelope.complete(result)
  }

  /** A refusal is an answer, and the timer is over. Any other failure leaves it in the store: the sweeper tries again. */
  protected timerRefused(timer: TimerRecord, error: SendError) {
    if (error._tag === "MachineStopped") return
    if (!this.hasTimer(timer)) return this.keeper.timerStale(this.key, timer)
    if (error._tag !== "TransitionRefused" && error._tag !== "InvalidTransition") return report(this, error)
    const without = (timers: ReadonlyMap<string, TimerRecord>) =>
      new Map([...timers].filter(([, one]) => one.entry !== timer.entry || one.name !== timer.name))
    this.storedTimers = without(this.storedTimers)
    this.ahead = { ...this.ahead, timers: without(this.ahead.timers) }
    this.keeper.timerRefused(this.key, timer)
  }

  /** The journal says what is owed: some of it waits here already, the rest was left by whoever had the instance before. */
  protected takeOver(owed: ReadonlyArray<OwedEvent>) {
    this.owed = undefined
    const waiting = this.mailbox?.takeAll() ?? []
    const ids = new Set(owed.map(({ id }) => id))
    const known = new Map([...waiting, ...(this.postponed ?? [])].map((envelope) => [envelope.dedupeId, envelope]))
    const left = owed.filter(({ id }) => !known.has(id)).map(({ id, event }) => new Envelope(event, { internal: true, dedupeId: id }))
    const isOver = ({ dedupeId }: Envelope) => isRaisedId(dedupeId) && !ids.has(dedupeId)
    const still = waiting.filter((envelope) => !isOver(envelope))
    // Another node has handled it.
    for (const envelope of waiting.filter(isOver)) this.complete(envelope, stale(this, envelope.event._tag))
    if (left.length + still.length > 0) {
      this.mailbox ??= new Mailbox()
      this.mailbox.unshift([...left, ...still])
    }
    this.owe([...left, ...owed.flatMap(({ id }) => known.get(id) ?? [])])
  }

  protected owe(envelopes: ReadonlyArray<Envelope>) {
    if (envelopes.length === 0) return
    this.owed ??= new Set()
    for (const envelope of envelopes) {
      this.owed.add(envelope)
      // Refused, it is settled as well.
      envelope.tracker = () => {
        if (!isUndecided(envelope.result)) this.owed?.delete(envelope)
      }
    }
  }

  protected getInLine() {
    if (this.inLine || this.flight !== undefined) return
    this.inLine = true
    if (this.steps[0]?.envelope.timer === undefined) this.keeper.committer.enqueue(this)
    else this.keeper.committer.enqueueFired(this)
  }
}
