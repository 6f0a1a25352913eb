/**
 * A durable instance while it is in memory. It decides like any actor, but nothing of a decision can be seen before it is
 * stored. Meanwhile it may decide ahead on what is not stored yet; if storing fails, all of that is forgotten.
 */

import { ActionFailed, type ActorEnd, type Decision, type SendError, type Taken, timeoutEvent } from "@detent/machine"
import {
  type ActorPort,
  decide,
  eventProblem,
  inspect,
  limited,
  Mailbox,
  type Message,
  type Result,
  report,
  type StateScope,
  stale,
  stopped,
  type Tagged,
} from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type EventTrace, within } from "../engine/Tracing.ts"
import type { TimerRecord } from "../store/Commit.ts"
import { Envelope } from "./Envelope.ts"
import { idTaken, isIdOfAnother } from "./IdTaken.ts"
import { none } from "./InstanceStanding.ts"
import { InstanceStoring } from "./InstanceStoring.ts"
import { type OwedEvent, raisedId } from "./SelfSentEvents.ts"
import { type AcceptedStep, commandRecords, eventRecord } from "./Step.ts"

/** So many events may be decided ahead of the store. */
const aheadLimit = 1000

type DeferredDecision = Extract<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

export class InstanceCell extends InstanceStoring implements ActorPort {
  /** Begins to live: timers are armed and the state's work starts. */
  resume(owed: ReadonlyArray<OwedEvent>) {
    this.keeper.arm(this, this.storedTimers)
    this.takeOver(owed)
    this.startWork()
    this.pump()
  }

  protected get living(): ActorPort {
    return this
  }

  offer(event: Tagged, internal: boolean): Result | Message {
    return this.deliver(new Envelope(event, { internal }))
  }

  sendInternal(event: Tagged, residence: StateScope | undefined) {
    const envelope = this.deliver(new Envelope(event, { internal: true }))
    const tell = (result: Result) => {
      if (result instanceof Error && result._tag !== "MachineStopped" && result._tag !== "TransitionRefused") report(this, result)
    }
    if (envelope.result !== undefined) return tell(envelope.result)
    envelope.observer = tell
    residence?.queue(envelope, undefined)
  }

  deliver(envelope: Envelope): Envelope {
    envelope.trace ??= this.keeper.tracing?.incoming(this.key, envelope)
    if (this.ending !== undefined) {
      this.answer(envelope, stopped(this, this.ending))
      return envelope
    }
    const first = envelope.dedupeId === undefined ? undefined : this.ids?.get(envelope.dedupeId)
    if (first !== undefined && first.result === undefined) {
      if (!isIdOfAnother(envelope, first.event)) envelope.follow(first)
      else this.refused(envelope, idTaken(this.key, envelope, `${first.event._tag}, which is under way`))
      return envelope
    }
    if (envelope.dedupeId !== undefined) {
      this.ids ??= new Map()
      this.ids.set(envelope.dedupeId, envelope)
    }
    if (this.#isFree && this.mailbox?.isWaiting !== true) {
      this.#pumping = true
      this.decideOn(envelope)
      this.#pumping = false
    } else {
      this.mailbox ??= new Mailbox()
      this.mailbox.push(envelope)
    }
    this.pump()
    return envelope
  }

  /** Takes in a timer that is due. One that is told of twice, by its own queue and by a sweeper, is handled once. */
  fire(timer: TimerRecord): Envelope {
    const envelope = new Envelope(timeoutEvent(timer.name), { timer })
    const underway = this.firing.length === 0 ? none : this.firing.filter((one) => one.result === undefined)
    const first = underway.find((one) => one.timer?.name === timer.name && one.timer.entry === timer.entry)
    if (first !== undefined) {
      envelope.follow(first)
      return envelope
    }
    this.firing = underway.length === 0 ? [envelope] : [...underway, envelope]
    return this.deliver(envelope)
  }

  #pumping = false

  /** What comes now can be decided on at once: most instances never need a mailbox. */
  get #isFree(): boolean {
    const isLocked = this.keeper.lock === undefined || this.lock !== undefined
    return isLocked && !this.#pumping && !this.isBusy && !this.awaitsStore && this.steps.length < aheadLimit
  }

  /** Decides on what waits, as long as nothing must be over first. */
  protected pump() {
    if (this.#pumping) return
    this.#pumping = true
    while (!this.isBusy && !this.awaitsStore && this.ending === undefined && this.steps.length < aheadLimit) {
      if (this.keeper.lock !== undefined && this.lock === undefined) {
        if (this.mailbox === undefined || !this.mailbox.isWaiting) break
        this.acquireLock(this.keeper.lock)
        continue
      }
      const envelope = this.mailbox?.shift()
      if (envelope === undefined) break
      if (envelope.result === undefined) this.decideOn(envelope)
    }
    this.#pumping = false
    if (this.lock !== undefined && !this.isBusy && this.steps.length === 0 && this.flight === undefined) this.releaseLock(this.lock)
    if (this.known !== undefined) this.catchUp()
  }

  protected decideOn(envelope: Envelope) {
    const { event, timer } = envelope
    // Whole milliseconds: a test clock can stand between two, and a store would read another time than was decided on.
    this.lastUsedAt = Math.floor(this.environment.clock.currentTimeMillisUnsafe())
    if (timer !== undefined && this.ahead.timers.get(timer.name)?.entry !== timer.entry)
      return this.refuse(envelope, stale(this, `(${timer.name})`))
    const problem = timer === undefined ? eventProblem(this.compiled, event) : undefined
    if (problem !== undefined) return this.refuse(envelope, problem)
    envelope.trace ??= this.keeper.tracing?.incoming(this.key, envelope)
    envelope.trace?.deciding(this.ahead.state)
    this.follow(envelope, decide(this.compiled, this.ahead.state, event, this.lastUsedAt), this.lastUsedAt, false)
  }

  protected follow(envelope: Envelope, decision: Decision<Tagged, Tagged>, at: number, effectful: boolean) {
    switch (decision._tag) {
      case "Goto":
      case "Stay":
      case "Stop":
        return this.accept(envelope, decision, at, effectful)
      case "Refused":
        return this.refuse(envelope, decision.error)
      case "Postponed":
        this.postponed ??= []
        this.postponed.push(envelope)
        inspect(this, () => ({ _tag: "Postponed", event: decision.event._tag }))
        envelope.trace?.postponed()
        this.answerIfKnown(envelope)
        return
      case "Deferred":
        return this.decideByEffect(envelope, decision, at)
    }
  }

  /** The Effect of a decision must neither rest on what may never be stored, nor run again for an event that is journaled. */
  protected decideByEffect(envelope: Envelope, { effect, event }: DeferredDecision, at: number) {
    if (this.isAhead) {
      this.#putFirst([envelope])
      this.awaitsStore = true
      return
    }
    if (envelope.dedupeId === undefined) return this.runDecision(envelope, effect, event, at)
    this.later(Effect.result(this.keeper.firstOutcome(this.registered, this.key, envelope.dedupeId)), (known) => {
      if (known === undefined) return envelope.complete(stopped(this, this.ending))
      if (known._tag === "Failure") return this.giveUp(envelope, known.failure)
      if (known.success !== undefined) return this.tellFirst(envelope, known.success)
      this.runDecision(envelope, effect, event, at)
    })
  }

  protected runDecision(envelope: Envelope, effect: DeferredDecision["effect"], event: Tagged, at: number) {
    this.later(within(envelope.trace, Effect.result(limited(this, effect, event._tag))), (settled) => {
      if (settled === undefined) return envelope.complete(stopped(this, this.ending))
      if (settled._tag === "Success") this.follow(envelope, settled.success, at, true)
      else this.refuse(envelope, settled.failure)
    })
  }

  protected refuse(envelope: Envelope, error: SendError) {
    // What is decided ahead may never be stored: a refusal that rests on it has to wait.
    if (this.isAhead) {
      this.steps.push({ _tag: "Refused", envelope, error })
      return this.getInLine()
    }
    const restsOnState = error._tag === "InvalidTransition" || error._tag === "TransitionRefused"
    if (restsOnState && this.lock === undefined && envelope.timer === undefined) return this.confirmRefusal(envelope, error)
    this.answer(envelope, error)
  }

  /** Without a lock another node may have gone further: before an event is refused, the journal is asked. */
  protected confirmRefusal(envelope: Envelope, error: SendError) {
    this.later(Effect.result(this.keeper.journal.open(this.key)), (read) => {
      const stored = read?._tag === "Success" ? Option.getOrUndefined(read.success) : undefined
      if (stored === undefined || stored.record.sequence === this.sequence || this.ending !== undefined) return this.answer(envelope, error)
      this.#putFirst([envelope])
      this.reload([], error)
    })
  }

  /** A postponed event may wait for long; one that is journaled already need not. */
  protected answerIfKnown(envelope: Envelope) {
    if (envelope.dedupeId === undefined) return
    this.environment.run(
      Effect.match(this.keeper.firstOutcome(this.registered, this.key, envelope.dedupeId), {
        // It goes on waiting, and the commit will find out.
        onFailure: () => undefined,
        onSuccess: (first) => (first === undefined ? undefined : this.tellFirst(envelope, first)),
      }),
    )
  }

  protected accept(envelope: Envelope, decision: Taken<Tagged, Tagged>, at: number, effectful: boolean) {
    const sequence = this.ahead.sequence + 1
    const node = this.nodeAfter(this.ahead, decision)
    const barrier = this.takesTime(decision, node)
    const raised =
      decision.sends.length === 0
        ? none
        : decision.sends.map((event, index) => new Envelope(event, { raised: true, dedupeId: raisedId(sequence, index) }))
    let step: AcceptedStep
    try {
      const record = eventRecord(this.registered.codec, envelope, decision, at, sequence, effectful)
      const commands = commandRecords(this.registered, this.key, decision.requests, sequence)
      step = { _tag: "Accepted", envelope, decision, at, sequence, record, commands, raised, barrier }
    } catch (cause) {
      const { machine, id } = this.key
      const { _tag: state } = decision.from
      return this.refuse(
        envelope,
        new ActionFailed({ machine, id, phase: "decide", state, event: decision.event._tag, committed: false, cause }),
      )
    }
    this.ahead = this.standingAfter(this.ahead, step, node)
    if (envelope.trace !== undefined) this.traceAccepted(envelope.trace, step)
    // An array that begins empty takes room for seventeen, and nearly always there is one.
    if (this.steps.length === 0) this.steps = [step]
    else this.steps.push(step)
    if (decision._tag === "Goto" && this.postponed !== undefined) {
      this.#putFirst(this.postponed)
      this.postponed = undefined
    }
    this.owed?.delete(envelope)
    this.owe(raised)
    if (raised.length > 0) this.#putFirst(raised)
    if (barrier) this.block()
    this.getInLine()
  }

  /** They are decided on before all that waits. */
  #putFirst(envelopes: ReadonlyArray<Envelope>) {
    this.mailbox ??= new Mailbox()
    this.mailbox.unshift(envelopes)
  }

  protected traceAccepted(trace: EventTrace, { decision, sequence, raised }: AcceptedStep) {
    trace.committing(decision, sequence)
    for (const envelope of raised) envelope.trace = trace.raises(this.key, envelope)
  }

  protected override end(ending: ActorEnd<Tagged>): Effect.Effect<void> | undefined {
    const closing = super.end(ending)
    // While something is on its way to the store, its answer comes first.
    if (this.lock !== undefined && this.flight === undefined) this.releaseLock(this.lock)
    for (const envelope of this.postponed ?? none) this.answer(envelope, stopped(this, ending))
    if (this.mailbox?.isWaiting) for (const envelope of this.mailbox.takeAll()) this.answer(envelope, stopped(this, ending))
    this.postponed = undefined
    this.mailbox = undefined
    this.firing = none
    this.tellAllKnown()
    return closing
  }
}
