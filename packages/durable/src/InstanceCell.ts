/**
 * A durable instance while it is in memory. It decides like any actor, but nothing of a decision can be seen before it is
 * stored. Meanwhile it may decide ahead on what is not stored yet; if storing fails, all of that is forgotten.
 */
import {
  ActionFailed,
  type ActorEnd,
  type Decision,
  LockingFailed,
  PersistenceFailed,
  type SendError,
  SequenceConflict,
  type Taken,
  timeoutEvent,
} from "@detent/machine"
import {
  decide,
  eventProblem,
  inspect,
  type Living,
  limited,
  Mailbox,
  type Message,
  type Node,
  type Residence,
  type Result,
  refusal,
  report,
  stale,
  stopped,
  type Tagged,
} from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { Commit, CommitOutcome, EventRecord, SnapshotRecord, TimerRecord } from "./Commit.ts"
import type { Committing, Doubtful } from "./Committer.ts"
import { conflicts } from "./EngineMetrics.ts"
import { Envelope } from "./Envelope.ts"
import { InstanceLife } from "./InstanceLife.ts"
import type { HeldLock } from "./InstanceLock.ts"
import type { OpenedInstance } from "./Journal.ts"
import type { Keeper, Reloaded } from "./Keeper.ts"
import { type OwedEvent, raisedId } from "./Raised.ts"
import type { Registered } from "./Registered.ts"
import { snapshotDue } from "./SnapshotDue.ts"
import { type AcceptedStep, commandRecords, eventRecord, type Step, timersAfter } from "./Step.ts"

/** So many events may be decided ahead of the store. */
const aheadLimit = 1000

/** An event that keeps meeting newer sequences is given up after so many. */
const conflictLimit = 50

type DeferredDecision = Extract<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

/** Where an instance stands, stored or not. */
export interface Standing {
  readonly state: Tagged
  readonly node: Node
  readonly sequence: number
  readonly timers: ReadonlyMap<string, TimerRecord>
}

export class InstanceCell extends InstanceLife implements Living, Committing {
  /** What decisions are made on: the stored standing, or ahead of it. */
  #ahead: Standing
  #storedTimers: ReadonlyMap<string, TimerRecord>
  #snapshot: { readonly sequence: number; readonly at: number }
  /** Decided and waiting for the next flush. */
  #steps: Array<Step> = []
  /** On their way to the store. */
  #flight: ReadonlyArray<Step> | undefined = undefined
  #inLine = false
  #mailbox: Mailbox<Envelope> | undefined = undefined
  #postponed: Array<Envelope> | undefined = undefined
  #ids: Map<string, Envelope> | undefined = undefined
  #firing: Map<string, Envelope> | undefined = undefined
  #lock: HeldLock | undefined = undefined
  #owed: Set<Envelope> | undefined = undefined
  #snapshotInFlight: SnapshotRecord | undefined = undefined
  /** What comes next must not be decided before all that came earlier is stored. */
  #awaitsStore = false
  /** Since when, and how often, the store has failed at what this instance wanted to store. */
  #failing: { readonly since: number; readonly times: number } | undefined = undefined
  /** Flights that the store failed at. One of them may still arrive, as long as the instance stands where they began. */
  #doubted: ReadonlyArray<ReadonlyArray<AcceptedStep>> | undefined = undefined
  /** Turned by every event: tells when the instance was last used. */
  lastUsedAt: number

  constructor(keeper: Keeper, registered: Registered, { opened, recovered }: Reloaded) {
    const { record } = opened
    super(keeper, registered, record.id, recovered.state, record.startedAt)
    this.lastUsedAt = this.environment.clock.currentTimeMillisUnsafe()
    this.lastTransitionAt = recovered.at
    this.sequence = recovered.sequence
    for (const state of recovered.past) this.remember(state)
    this.#storedTimers = new Map(opened.timers.map((timer) => [timer.name, timer]))
    this.#snapshot = opened.snapshot ?? { sequence: 0, at: record.startedAt }
    this.#ahead = this.#stored()
  }

  #stored(): Standing {
    return { state: this.currentState, node: this.node, sequence: this.sequence, timers: this.#storedTimers }
  }

  /** Begins to live: timers are armed and the state's work starts. */
  resume(owed: ReadonlyArray<OwedEvent>) {
    this.keeper.arm(this, this.#storedTimers)
    this.#takeOver(owed)
    this.startWork()
    this.pump()
  }

  /** Nothing is under way, and nobody listens: it can be forgotten until somebody asks for it again. */
  get isIdle(): boolean {
    return (
      !this.isBusy && this.#steps.length === 0 && this.#flight === undefined && this.#lock === undefined && this.#postponed === undefined
    )
  }

  /** The machine sent itself events that are not decided yet. A snapshot would hide where they come from. */
  get owesEvents(): boolean {
    return this.#owed !== undefined && this.#owed.size > 0
  }

  protected get living(): Living {
    return this
  }

  /** Whether a timer of the stored state is still the one of that entry. */
  hasTimer({ name, entry }: TimerRecord): boolean {
    return this.#storedTimers.get(name)?.entry === entry
  }

  /** All that was accepted is stored and carried out. */
  get isSettled(): boolean {
    return this.#steps.length === 0 && this.#flight === undefined && !this.isBusy
  }

  /** The journal says that it has ended: it can be looked at, and refuses events with the reason. */
  conclude({ record }: OpenedInstance) {
    const state = this.currentState
    this.ending =
      record.status === "final" ? { _tag: "Final", state } : { _tag: "Stopped", state, reason: record.reason ?? "it was stopped" }
  }

  // Taking events in

  offer(event: Tagged, internal: boolean): Result | Message {
    return this.deliver(new Envelope(event, { internal }))
  }

  sendInternal(event: Tagged, residence: Residence | undefined) {
    const envelope = this.deliver(new Envelope(event, { internal: true }))
    const tell = (result: Result) => {
      if (result instanceof Error && result._tag !== "MachineStopped" && result._tag !== "TransitionRefused") report(this, result)
    }
    if (envelope.result !== undefined) return tell(envelope.result)
    envelope.observer = tell
    residence?.queue(envelope, undefined)
  }

  deliver(envelope: Envelope): Envelope {
    if (this.ending !== undefined) {
      this.#answer(envelope, stopped(this, this.ending))
      return envelope
    }
    const first = envelope.dedupeId === undefined ? undefined : this.#ids?.get(envelope.dedupeId)
    if (first !== undefined && first.result === undefined) {
      envelope.follow(first)
      return envelope
    }
    if (envelope.dedupeId !== undefined) {
      this.#ids ??= new Map()
      this.#ids.set(envelope.dedupeId, envelope)
    }
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(envelope)
    this.pump()
    return envelope
  }

  /** Takes in a timer that is due. One that is told of twice, by its own queue and by a sweeper, is handled once. */
  fire(timer: TimerRecord): Envelope {
    const envelope = new Envelope(timeoutEvent(timer.name), { timer })
    const first = this.#firing?.get(timer.name)
    if (first?.timer?.entry === timer.entry && first.result === undefined) {
      envelope.follow(first)
      return envelope
    }
    this.#firing ??= new Map()
    this.#firing.set(timer.name, envelope)
    return this.deliver(envelope)
  }

  // Deciding

  #pumping = false

  /** Decides on what waits, as long as nothing must be over first. */
  protected pump() {
    if (this.#pumping) return
    this.#pumping = true
    while (!this.isBusy && !this.#awaitsStore && this.ending === undefined && this.#steps.length < aheadLimit) {
      if (this.keeper.lock !== undefined && this.#lock === undefined) {
        if (this.#mailbox === undefined || !this.#mailbox.isWaiting) break
        this.#acquireLock(this.keeper.lock)
        continue
      }
      const envelope = this.#mailbox?.shift()
      if (envelope === undefined) break
      if (envelope.result === undefined) this.#decideOn(envelope)
    }
    this.#pumping = false
    if (this.#lock !== undefined && !this.isBusy && this.#steps.length === 0 && this.#flight === undefined) this.#releaseLock(this.#lock)
  }

  #decideOn(envelope: Envelope) {
    const { event, timer } = envelope
    // Whole milliseconds: a test clock can stand between two, and a store would read another time than was decided on.
    this.lastUsedAt = Math.floor(this.environment.clock.currentTimeMillisUnsafe())
    if (timer !== undefined && this.#ahead.timers.get(timer.name)?.entry !== timer.entry)
      return this.#refuse(envelope, stale(this, `(${timer.name})`))
    const problem = timer === undefined ? eventProblem(this.compiled, event) : undefined
    if (problem !== undefined) return this.#refuse(envelope, problem)
    this.#follow(envelope, decide(this.compiled, this.#ahead.state, event, this.lastUsedAt), this.lastUsedAt, false)
  }

  #follow(envelope: Envelope, decision: Decision<Tagged, Tagged>, at: number, effectful: boolean) {
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        return this.#accept(envelope, decision, at, effectful)
      case "Refused":
        return this.#refuse(envelope, decision.error)
      case "Postponed":
        this.#postponed ??= []
        this.#postponed.push(envelope)
        inspect(this, () => ({ _tag: "Postponed", event: decision.event._tag }))
        this.#answerIfKnown(envelope)
        return
      case "Deferred":
        return this.#decideByEffect(envelope, decision, at)
    }
  }

  /** The Effect of a decision must neither rest on what may never be stored, nor run again for an event that is journaled. */
  #decideByEffect(envelope: Envelope, { effect, event }: DeferredDecision, at: number) {
    if (this.#isAhead) {
      this.#mailbox?.unshift([envelope])
      this.#awaitsStore = true
      return
    }
    if (envelope.dedupeId === undefined) return this.#runDecision(envelope, effect, event, at)
    this.later(Effect.result(this.keeper.firstOutcome(this.registered, this.key, envelope.dedupeId)), (known) => {
      if (known === undefined) return envelope.complete(stopped(this, this.ending))
      if (known._tag === "Failure") return this.#complete(envelope, known.failure)
      if (known.success !== undefined) return this.#complete(envelope, known.success)
      this.#runDecision(envelope, effect, event, at)
    })
  }

  #runDecision(envelope: Envelope, effect: DeferredDecision["effect"], event: Tagged, at: number) {
    this.later(Effect.result(limited(this, effect, event._tag)), (settled) => {
      if (settled === undefined) return envelope.complete(stopped(this, this.ending))
      if (settled._tag === "Success") this.#follow(envelope, settled.success, at, true)
      else this.#refuse(envelope, settled.failure)
    })
  }

  /** Decisions have been made that are not stored. */
  get #isAhead(): boolean {
    return this.#steps.length > 0 || this.#flight !== undefined
  }

  #refuse(envelope: Envelope, error: SendError) {
    // What is decided ahead may never be stored: a refusal that rests on it has to wait.
    if (this.#isAhead) {
      this.#steps.push({ _tag: "Refused", envelope, error })
      return this.#getInLine()
    }
    const restsOnState = error._tag === "InvalidTransition" || error._tag === "TransitionRefused"
    if (restsOnState && this.#lock === undefined && envelope.timer === undefined) return this.#confirmRefusal(envelope, error)
    this.#answer(envelope, error)
  }

  /** Without a lock another node may have gone further: before an event is refused, the journal is asked. */
  #confirmRefusal(envelope: Envelope, error: SendError) {
    this.later(Effect.result(this.keeper.journal.open(this.key)), (read) => {
      const stored = read?._tag === "Success" ? Option.getOrUndefined(read.success) : undefined
      if (stored === undefined || stored.record.sequence === this.sequence || this.ending !== undefined)
        return this.#answer(envelope, error)
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift([envelope])
      this.#reload([], error)
    })
  }

  /** An event sent again under its id is answered with what it first came to, whatever state the instance is in by now. */
  #answer(envelope: Envelope, otherwise: SendError) {
    const { dedupeId, event, timer } = envelope
    if (timer !== undefined) this.#timerRefused(timer, otherwise)
    if (dedupeId === undefined) return envelope.complete(refusal(this, event, otherwise))
    this.environment.run(
      Effect.match(this.keeper.firstOutcome(this.registered, this.key, dedupeId), {
        onFailure: (failure) => this.#complete(envelope, failure),
        onSuccess: (first) => this.#complete(envelope, first ?? refusal(this, event, otherwise)),
      }),
    )
  }

  /** A postponed event may wait for long; one that is journaled already need not. */
  #answerIfKnown(envelope: Envelope) {
    if (envelope.dedupeId === undefined) return
    this.environment.run(
      Effect.match(this.keeper.firstOutcome(this.registered, this.key, envelope.dedupeId), {
        // It goes on waiting, and the commit will find out.
        onFailure: () => undefined,
        onSuccess: (first) => (first === undefined ? undefined : this.#complete(envelope, first)),
      }),
    )
  }

  #complete(envelope: Envelope, result: Result) {
    if (envelope.dedupeId !== undefined && this.#ids?.get(envelope.dedupeId) === envelope) this.#ids.delete(envelope.dedupeId)
    envelope.complete(result)
  }

  /** A refusal is an answer, and the timer is over. Any other failure leaves it in the store: the sweeper tries again. */
  #timerRefused(timer: TimerRecord, error: SendError) {
    if (error._tag === "MachineStopped") return
    if (!this.hasTimer(timer)) return this.keeper.timerStale(this.key, timer)
    if (error._tag !== "TransitionRefused" && error._tag !== "InvalidTransition") return report(this, error)
    const without = (timers: ReadonlyMap<string, TimerRecord>) =>
      new Map([...timers].filter(([, one]) => one.entry !== timer.entry || one.name !== timer.name))
    this.#storedTimers = without(this.#storedTimers)
    this.#ahead = { ...this.#ahead, timers: without(this.#ahead.timers) }
    this.keeper.timerRefused(this.key, timer)
  }

  #accept(envelope: Envelope, decision: Taken<Tagged, Tagged>, at: number, effectful: boolean) {
    const sequence = this.#ahead.sequence + 1
    const node = decision.state === this.#ahead.state ? this.#ahead.node : (this.compiled.nodes.get(decision.state._tag) as Node)
    const barrier = this.takesTime(decision, node)
    const raised = decision.sends.map((event, index) => new Envelope(event, { raised: true, dedupeId: raisedId(sequence, index) }))
    let step: AcceptedStep
    try {
      const record = eventRecord(this.registered.codec, envelope, decision, at, sequence, effectful)
      const commands = commandRecords(this.key, decision, sequence)
      step = { _tag: "Accepted", envelope, decision, at, sequence, record, commands, raised, barrier }
    } catch (cause) {
      const { machine, id } = this.key
      const { _tag: state } = decision.from
      return this.#refuse(
        envelope,
        new ActionFailed({ machine, id, phase: "decide", state, event: decision.event._tag, committed: false, cause }),
      )
    }
    this.#ahead = { state: decision.state, node, sequence, timers: timersAfter(this.#ahead.timers, step) }
    this.#steps.push(step)
    if (decision._tag === "Goto" && this.#postponed !== undefined) {
      this.#mailbox?.unshift(this.#postponed)
      this.#postponed = undefined
    }
    this.#owed?.delete(envelope)
    this.#owe(raised)
    if (raised.length > 0) this.#mailbox?.unshift(raised)
    if (barrier) this.block()
    this.#getInLine()
  }

  /** The journal says what is owed: some of it waits here already, the rest was left by whoever had the instance before. */
  #takeOver(owed: ReadonlyArray<OwedEvent>) {
    this.#owed = undefined
    if (owed.length === 0) return
    const waiting = this.#mailbox?.takeAll() ?? []
    const known = new Map(waiting.map((envelope) => [envelope.dedupeId, envelope]))
    const left = owed.filter(({ id }) => !known.has(id)).map(({ id, event }) => new Envelope(event, { internal: true, dedupeId: id }))
    this.#mailbox ??= new Mailbox()
    this.#mailbox.unshift([...left, ...waiting])
    this.#owe([...left, ...owed.flatMap(({ id }) => known.get(id) ?? [])])
  }

  #owe(envelopes: ReadonlyArray<Envelope>) {
    if (envelopes.length === 0) return
    this.#owed ??= new Set()
    for (const envelope of envelopes) {
      this.#owed.add(envelope)
      // Refused, it is settled as well.
      envelope.tracker = () => this.#owed?.delete(envelope)
    }
  }

  #getInLine() {
    if (this.#inLine || this.#flight !== undefined) return
    this.#inLine = true
    this.keeper.committer.enqueue(this)
  }

  // Storing

  takeCommit(): Commit | undefined {
    this.#inLine = false
    const steps = this.#steps
    this.#steps = []
    this.#flight = steps
    const accepted = steps.filter((step) => step._tag === "Accepted")
    const last = accepted.at(-1)
    this.#snapshotInFlight = undefined
    if (last === undefined) {
      this.#settle(steps)
      return undefined
    }
    const { machine, id } = this.key
    const timers = accepted.reduce((before, step) => timersAfter(before, step), this.#storedTimers)
    const node = this.compiled.nodes.get(last.decision.state._tag) as Node
    const moment = { sequence: last.sequence, at: last.at }
    const tags = accepted.map((step) => step.decision.state._tag)
    const due = !this.owesEvents && snapshotDue(this.registered.snapshots, this.#snapshot, moment, tags)
    const snapshot = due ? this.#snapshotOf(last) : undefined
    this.#snapshotInFlight = snapshot
    return {
      machine,
      id,
      expected: this.sequence,
      sequence: last.sequence,
      at: last.at,
      summary: {
        tag: node.tag,
        status: last.decision._tag === "Stop" ? "stopped" : node.final ? "final" : "running",
        reason: last.decision._tag === "Stop" ? last.decision.reason : undefined,
        version: this.registered.version,
        resident: !node.final && last.decision._tag !== "Stop" && node.works.length > 0,
      },
      origin: undefined,
      events: accepted.map((step) => step.record),
      snapshot,
      clearTimers: [...this.#storedTimers.keys()].filter((name) => !timers.has(name)),
      setTimers: [...timers.values()].filter((timer) => this.#storedTimers.get(timer.name)?.entry !== timer.entry),
      commands: accepted.flatMap((step) => step.commands),
      fence: this.#lock?.fence,
    }
  }

  /** A state that cannot be written is no reason to lose the event that led to it. */
  #snapshotOf({ sequence, at, decision }: AcceptedStep): SnapshotRecord | undefined {
    try {
      return { sequence, at, version: this.registered.version, body: this.registered.codec.encodeState(decision.state) }
    } catch (cause) {
      this.environment.run(Effect.logError(`${this.machine} ${this.id}: no snapshot at ${sequence}: its state cannot be encoded`, cause))
      return undefined
    }
  }

  committed(outcome: CommitOutcome | Doubtful) {
    const steps = this.#flight ?? []
    switch (outcome._tag) {
      case "Stored":
        this.#failing = undefined
        return this.#settle(steps)
      case "Doubtful":
        return this.#doubt(outcome.error, steps)
      case "PersistenceFailed":
        return this.#reload(steps, outcome, steps)
      case "Conflict":
        return this.#conflict(steps, outcome.actual)
      case "Duplicate":
        return this.#duplicate(steps, outcome.dedupeId)
      case "Fenced": {
        const { machine, id } = this.key
        this.#lock = undefined
        const error = new LockingFailed({ machine, id, problem: "lost" })
        // A flight that the store failed at before may have arrived while the lock was still held.
        if (this.#doubted !== undefined) return this.#reload(steps, error, [...steps, ...this.#steps])
        return this.#forget(steps, error)
      }
    }
  }

  /** What was in flight is stored: now it may be seen. */
  #settle(steps: ReadonlyArray<Step>) {
    this.#flight = undefined
    this.#snapshot = this.#snapshotInFlight ?? this.#snapshot
    this.#snapshotInFlight = undefined
    this.#awaitsStore = this.#steps.length > 0 && this.#awaitsStore
    this.#doubted = undefined
    const before = this.#storedTimers
    for (const step of steps) {
      if (step._tag === "Refused") {
        this.#answer(step.envelope, step.error)
        continue
      }
      this.#storedTimers = timersAfter(this.#storedTimers, step)
      if (step.envelope.dedupeId !== undefined) this.#ids?.delete(step.envelope.dedupeId)
      for (const envelope of step.raised) envelope.raised = false
      this.carryOut(step)
    }
    if (before !== this.#storedTimers) this.keeper.arm(this, this.#storedTimers)
    if (this.#steps.length > 0) this.#getInLine()
    this.pump()
    this.keeper.settled()
  }

  /** The store did not say whether it stored: it is asked until it tells, and the same commit is not sent twice. */
  #doubt(error: PersistenceFailed, steps: ReadonlyArray<Step>) {
    const asked = this.environment.clock.currentTimeMillisUnsafe()
    this.#failing = { since: this.#failing?.since ?? asked, times: (this.#failing?.times ?? 0) + 1 }
    const { since, times } = this.#failing
    const flight = steps.filter((step) => step._tag === "Accepted")
    this.#doubted = [flight, ...(this.#doubted ?? [])]
    this.later(Effect.result(this.#whatIsStored()), (told) => {
      if (told?._tag !== "Success" || told.success.reloaded === undefined)
        return this.#forget(steps, told?._tag === "Failure" ? told.failure : error)
      const { arrived, reloaded } = told.success
      if (arrived !== undefined) {
        this.#failing = undefined
        return arrived === flight ? this.#settleUpTo(steps, reloaded) : this.#settleLate(arrived, steps, reloaded, error)
      }
      const now = this.environment.clock.currentTimeMillisUnsafe()
      if (now - since >= this.keeper.storeTimeoutMillis) {
        return this.#redeliver(steps, reloaded, error, [...steps, ...this.#steps])
      }
      // The store can be read but not written: it is given time.
      this.later(Effect.sleep(Math.min(25 * 2 ** times, 1000)), () => this.#redeliver(steps, reloaded, error))
    })
  }

  /** Where the instance stands by the journal, and whether that has one of the flights the store failed at. */
  #whatIsStored() {
    return Effect.gen({ self: this }, function* () {
      const reloaded = yield* this.#askUntilTold()
      const flights = this.#doubted
      if (flights === undefined) return { reloaded, arrived: undefined }
      const longest = Math.max(...flights.map((flight) => flight.length))
      const events = yield* this.#patiently(this.keeper.journal.events(this.key, this.sequence, longest))
      return { reloaded, arrived: flights.find((flight) => areJournaled(flight, events)) }
    })
  }

  /** A flight arrived after its events were decided anew: what was decided then counts, and the rest is decided on top of it. */
  #settleLate(
    flight: ReadonlyArray<AcceptedStep>,
    steps: ReadonlyArray<Step>,
    reloaded: Reloaded,
    error: SendError,
    given: ReadonlyArray<Step> = [],
  ) {
    const last = flight.at(-1) as AcceptedStep
    const stored = new Set(flight.map((step) => step.envelope))
    const raised = flight.flatMap((step) => step.raised).filter((envelope) => !stored.has(envelope))
    const again = [...steps, ...this.#steps]
      .filter((step) => !given.includes(step))
      .map((step) => step.envelope)
      .filter((envelope) => !envelope.raised && envelope.result === undefined && !stored.has(envelope))
    this.#mailbox ??= new Mailbox()
    this.#mailbox.unshift([...raised, ...again, ...this.#mailbox.takeAll().filter((message) => !message.raised && !stored.has(message))])
    this.#steps = []
    this.#awaitsStore = false
    this.unblock()
    this.#ahead = {
      state: last.decision.state,
      node: this.compiled.nodes.get(last.decision.state._tag) as Node,
      sequence: last.sequence,
      timers: flight.reduce((before, step) => timersAfter(before, step), this.#storedTimers),
    }
    this.#settleUpTo(flight, reloaded)
    for (const { envelope } of given) if (!stored.has(envelope)) this.#complete(envelope, error)
  }

  /** What was in flight is stored after all; others may have written since. */
  #settleUpTo(steps: ReadonlyArray<Step>, reloaded: Reloaded) {
    const last = steps.findLast((step) => step._tag === "Accepted")
    this.#settle(steps)
    if (last !== undefined && reloaded.recovered.sequence > last.sequence) this.refresh()
  }

  /** Another node has gone further: the journal is read before anything else is decided. */
  refresh() {
    // What is on its way finds out by itself.
    if (this.ending !== undefined || this.#isAhead || this.isBusy) return
    const { machine, id } = this.key
    this.#reload([], new PersistenceFailed({ machine, id, operation: "read again", cause: new Error("it is gone") }))
  }

  #askUntilTold(): Effect.Effect<Reloaded | undefined, SendError> {
    return this.#patiently(this.keeper.reload(this.registered, this.key))
  }

  #patiently<A, E extends SendError>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.retry(effect, { schedule: this.keeper.doubt, while: (failure) => failure._tag === "PersistenceFailed" })
  }

  #conflict(steps: ReadonlyArray<Step>, actual: number) {
    const { machine, id } = this.key
    this.environment.run(Metric.update(conflicts, 1))
    const error = new SequenceConflict({ machine, id, expected: this.sequence, actual })
    const given = steps.filter((step) => ++step.envelope.conflicts > conflictLimit || this.keeper.onConflict === "fail")
    this.#reload(steps, error, given)
  }

  #duplicate(steps: ReadonlyArray<Step>, dedupeId: string) {
    const repeated = steps.find((step) => step.envelope.dedupeId === dedupeId)
    const { machine, id } = this.key
    const missing = new PersistenceFailed({ machine, id, operation: "find the first event of an id", cause: new Error("it is gone") })
    if (repeated !== undefined) this.#answer(repeated.envelope, missing)
    this.#reload(
      steps.filter((step) => step !== repeated),
      missing,
    )
  }

  /** Reads the journal and decides anew on what was not stored, but for those that are given up. */
  #reload(steps: ReadonlyArray<Step>, error: SendError, given: ReadonlyArray<Step> = []) {
    this.later(Effect.result(this.#whatIsStored()), (told) => {
      if (told?._tag !== "Success" || told.success.reloaded === undefined)
        return this.#forget(steps, told?._tag === "Failure" ? told.failure : error)
      const { reloaded, arrived } = told.success
      if (arrived !== undefined) this.#settleLate(arrived, steps, reloaded, error, given)
      else this.#redeliver(steps, reloaded, error, given)
    })
  }

  /** Who is given up is told once the instance stands where the journal says. */
  #redeliver(steps: ReadonlyArray<Step>, reloaded: Reloaded, error: SendError, given: ReadonlyArray<Step> = []) {
    const again = [...steps, ...this.#steps]
      .filter((step) => !given.includes(step))
      .map((step) => step.envelope)
      .filter((envelope) => !envelope.raised && envelope.result === undefined)
    this.#flight = undefined
    this.#steps = []
    this.#awaitsStore = false
    this.unblock()
    this.#adopt(reloaded)
    if (this.ending === undefined) {
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift([...again, ...this.#mailbox.takeAll().filter((message) => !message.raised)])
      this.#takeOver(reloaded.recovered.owed)
    } else for (const envelope of again) this.#answer(envelope, stopped(this, this.ending))
    for (const { envelope } of given) this.#complete(envelope, error)
    this.pump()
  }

  /** Takes the journal's word for where the instance stands. */
  #adopt({ opened, recovered }: Reloaded) {
    const moved = recovered.sequence !== this.sequence
    this.sequence = recovered.sequence
    this.lastTransitionAt = recovered.at
    this.#storedTimers = new Map(opened.timers.map((timer) => [timer.name, timer]))
    this.#snapshot = opened.snapshot ?? this.#snapshot
    if (moved) this.#doubted = undefined
    if (moved) this.relocate(recovered.state, recovered.past, opened.record, recovered.stopped)
    this.#ahead = this.#stored()
    if (moved && this.#postponed !== undefined) {
      this.#mailbox ??= new Mailbox()
      this.#mailbox.unshift(this.#postponed)
      this.#postponed = undefined
    }
    this.keeper.arm(this, this.#storedTimers)
  }

  /** Nobody knows where the instance stands: it leaves memory, and the next who asks reads the journal. */
  #forget(steps: ReadonlyArray<Step>, error: SendError) {
    const waiting = [...steps, ...this.#steps].map((step) => step.envelope)
    this.#flight = undefined
    this.#steps = []
    for (const envelope of waiting) envelope.complete(error)
    for (const message of this.#mailbox?.takeAll() ?? []) message.complete(error)
    this.environment.run(this.leave("its place in memory was given up"))
  }

  // Locking

  #acquireLock(lock: NonNullable<Keeper["lock"]>) {
    const holder = lock(this.key)
    // Whatever comes between, the lock is kept or given back.
    const acquired = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(holder.acquire), (held) =>
        Effect.onExit(
          Effect.flatMap(restore(this.#askUntilTold()), (reloaded) =>
            reloaded === undefined ? Effect.fail(stopped(this, undefined)) : Effect.succeed({ held, reloaded }),
          ),
          (exit) => (exit._tag === "Success" ? Effect.void : held.release),
        ),
      ),
    )
    this.later(Effect.result(acquired), (result) => {
      if (result?._tag !== "Success") {
        const error = result?._tag === "Failure" ? result.failure : stopped(this, this.ending)
        for (const message of this.#mailbox?.takeAll() ?? []) this.#complete(message, error)
        return
      }
      this.#lock = result.success.held
      this.#adopt(result.success.reloaded)
      if (this.ending === undefined) this.#takeOver(result.success.reloaded.recovered.owed)
    })
  }

  #releaseLock(lock: HeldLock) {
    this.#lock = undefined
    this.environment.run(lock.release)
  }

  protected override end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    const closing = super.end(ending)
    // While something is on its way to the store, its answer comes first.
    if (this.#lock !== undefined && this.#flight === undefined) this.#releaseLock(this.#lock)
    const waiting = [...(this.#postponed ?? []), ...(this.#mailbox?.takeAll() ?? [])]
    for (const envelope of waiting) this.#answer(envelope, stopped(this, ending))
    this.#postponed = undefined
    return closing
  }
}

const areJournaled = (flight: ReadonlyArray<AcceptedStep>, events: ReadonlyArray<EventRecord>): boolean =>
  flight.length > 0 &&
  flight.every(({ record }, index) => {
    const event = events[index]
    return event?.sequence === record.sequence && event.at === record.at && event.body === record.body && event.dedupeId === record.dedupeId
  })
