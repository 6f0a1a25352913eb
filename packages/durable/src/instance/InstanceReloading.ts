/** How an instance finds its way back to what the journal says: after a conflict, a doubt, a wait for its lock, or when others have gone further. */
import { PersistenceFailed, type SendError } from "@detent/machine"
import { Mailbox, stopped, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { instancesGivenUp, record } from "../engine/EngineMetrics.ts"
import type { HeldLock } from "../engine/InstanceLock.ts"
import type { EventRecord } from "../store/Commit.ts"
import type { Envelope } from "./Envelope.ts"
import type { InstanceContext, Reloaded } from "./InstanceContext.ts"
import { InstanceStanding } from "./InstanceStanding.ts"
import type { AcceptedStep, Step } from "./Step.ts"

/** Whose events are not tried again, and what they are told. */
export type GivenUp = ReadonlyMap<Envelope, SendError>

const nobody: GivenUp = new Map()

/** What the journal has of the flights that the store failed at. */
export interface Told {
  readonly reloaded: Reloaded | undefined
  /** The one that arrived. */
  readonly arrived: ReadonlyArray<AcceptedStep> | undefined
  /** Of these nobody can tell whether they arrived: what the journal had there is pruned. */
  readonly untold: ReadonlyArray<ReadonlyArray<AcceptedStep>>
}

export abstract class InstanceReloading extends InstanceStanding {
  /** What was in flight is stored. */
  protected abstract settleSteps(steps: ReadonlyArray<Step>): void

  protected askUntilTold(): Effect.Effect<Reloaded | undefined, SendError> {
    return this.patiently(this.keeper.reload(this.registered, this.key))
  }

  protected patiently<A, E extends SendError>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.retry(effect, { schedule: this.keeper.doubt, while: (failure) => failure._tag === "PersistenceFailed" })
  }

  /** Where the instance stands by the journal, and whether that has one of the flights the store failed at. */
  protected whatIsStored(): Effect.Effect<Told, SendError> {
    return Effect.gen({ self: this }, function* () {
      const reloaded = yield* this.askUntilTold()
      const flights = this.doubted
      if (flights === undefined || reloaded === undefined) return { reloaded, arrived: undefined, untold: [] }
      const longest = Math.max(...flights.map((flight) => flight.length))
      const events = yield* this.patiently(this.keeper.journal.events(this.key, this.sequence, longest))
      const fates = flights.map((flight) => [flight, fateOf(flight, events, reloaded.recovered.sequence)] as const)
      const arrived = fates.find(([, fate]) => fate === "arrived")?.[0]
      const untold = arrived === undefined ? fates.flatMap(([flight, fate]) => (fate === "untold" ? [flight] : [])) : []
      return { reloaded, arrived, untold }
    })
  }

  /** Another node has gone further: the journal is read before anything else is decided. */
  refresh() {
    // What is on its way finds out by itself.
    if (this.ending !== undefined || this.isAhead || this.isBusy) return
    const { machine, id } = this.key
    this.reload([], new PersistenceFailed({ machine, id, operation: "read again", cause: new Error("it is gone") }))
  }

  /** What somebody has read of the journal: if that is further and nothing is on its way, the instance goes on from there. */
  takeIn(reloaded: Reloaded, passed: ReadonlyArray<Tagged> | undefined) {
    const { opened, recovered } = reloaded
    if (this.ending !== undefined || this.isAhead || this.isBusy || recovered.sequence <= this.sequence) return
    if (this.keeper.isClosed) {
      this.sequence = recovered.sequence
      this.lastTransitionAt = recovered.at
      return this.relocate(recovered, opened.record, passed)
    }
    // A flight that the store failed at may be among what it has now.
    if (this.doubted !== undefined) return this.refresh()
    this.redeliver([], reloaded, nobody, passed)
  }

  /** Reads the journal and decides anew on what was not stored, but for those that are given up. */
  protected reload(steps: ReadonlyArray<Step>, error: SendError, given: GivenUp = nobody) {
    this.later(Effect.result(this.whatIsStored()), (told) => {
      if (told?._tag !== "Success" || told.success.reloaded === undefined)
        return this.forget(steps, told?._tag === "Failure" ? told.failure : error)
      const { reloaded, arrived } = told.success
      if (arrived !== undefined) this.settleLate(arrived, steps, reloaded, given)
      else this.redeliver(steps, reloaded, this.alsoUntold(told.success, given))
    })
  }

  /** Decided again, an event that may be stored could be stored twice: but one with an id, and a timer, which are found out. */
  protected alsoUntold({ untold }: Told, given: GivenUp): GivenUp {
    if (untold.length === 0) return given
    const { machine, id } = this.key
    const cause = new Error("whether it was stored cannot be told any more: the journal was pruned meanwhile")
    const error = new PersistenceFailed({ machine, id, operation: "commit", cause })
    const envelopes = untold.flat().map(({ envelope }) => envelope)
    const doubtful = envelopes.filter(({ dedupeId, timer }) => dedupeId === undefined && timer === undefined)
    return new Map([...given, ...doubtful.map((envelope) => [envelope, error] as const)])
  }

  /** Who is given up is told once the instance stands where the journal says. */
  protected redeliver(steps: ReadonlyArray<Step>, reloaded: Reloaded, given: GivenUp = nobody, passed?: ReadonlyArray<Tagged>) {
    const again = this.undecided([...steps, ...this.steps], given)
    this.flight = undefined
    this.steps = []
    this.awaitsStore = false
    this.unblock()
    this.adopt(reloaded, passed)
    if (this.ending === undefined) {
      this.mailbox ??= new Mailbox()
      this.mailbox.unshift([...again, ...this.mailbox.takeAll().filter((message) => !message.raised)])
      this.takeOver(reloaded.recovered.owed)
    } else for (const envelope of again) this.answer(envelope, stopped(this, this.ending))
    for (const [envelope, error] of given) this.complete(envelope, error)
    this.pump()
    this.keeper.settled()
  }

  /** A flight arrived after its events were decided anew: what was decided then counts, and the rest is decided on top of it. */
  protected settleLate(flight: ReadonlyArray<AcceptedStep>, steps: ReadonlyArray<Step>, reloaded: Reloaded, given: GivenUp = nobody) {
    const stored = new Set(flight.map((step) => step.envelope))
    const raised = flight.flatMap((step) => step.raised).filter((envelope) => !stored.has(envelope))
    const again = this.undecided([...steps, ...this.steps], given).filter((envelope) => !stored.has(envelope))
    this.mailbox ??= new Mailbox()
    this.mailbox.unshift([...raised, ...again, ...this.mailbox.takeAll().filter((message) => !message.raised && !stored.has(message))])
    this.steps = []
    this.awaitsStore = false
    this.unblock()
    this.ahead = flight.reduce((before, step) => this.standingAfter(before, step, this.nodeAfter(before, step.decision)), this.standing())
    this.settleUpTo(flight, reloaded)
    for (const [envelope, error] of given) if (!stored.has(envelope)) this.complete(envelope, error)
  }

  /** What was in flight is stored after all; others may have written since. */
  protected settleUpTo(steps: ReadonlyArray<Step>, reloaded: Reloaded) {
    const last = steps.findLast((step) => step._tag === "Accepted")
    this.settleSteps(steps)
    if (last !== undefined && reloaded.recovered.sequence > last.sequence) this.refresh()
  }

  protected undecided(steps: ReadonlyArray<Step>, given: GivenUp): ReadonlyArray<Envelope> {
    return steps
      .map((step) => step.envelope)
      .filter((envelope) => !given.has(envelope) && !envelope.raised && envelope.result === undefined)
  }

  /** Takes the journal's word for where the instance stands. */
  protected adopt({ opened, recovered }: Reloaded, passed?: ReadonlyArray<Tagged>) {
    const moved = recovered.sequence !== this.sequence
    this.sequence = recovered.sequence
    this.lastTransitionAt = recovered.at
    this.storedTimers = new Map(opened.timers.map((timer) => [timer.name, timer]))
    this.lastSnapshot = opened.snapshot ?? this.lastSnapshot
    if (moved) this.doubted = undefined
    if (moved) this.relocate(recovered, opened.record, passed)
    this.ahead = this.standing()
    if (moved && this.postponed !== undefined) {
      this.mailbox ??= new Mailbox()
      this.mailbox.unshift(this.postponed)
      this.postponed = undefined
    }
    this.keeper.arm(this, this.storedTimers)
    this.tellAllKnown()
  }

  /** Whoever held it before may have gone further: with the lock comes what the journal says. */
  protected acquireLock(lock: NonNullable<InstanceContext["lock"]>) {
    const holder = lock(this.key)
    // Whatever comes between, the lock is kept or given back.
    const acquired = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(holder.acquire), (held) =>
        Effect.onExit(
          Effect.flatMap(restore(this.askUntilTold()), (reloaded) =>
            reloaded === undefined ? Effect.fail(stopped(this, undefined)) : Effect.succeed({ held, reloaded }),
          ),
          (exit) => (exit._tag === "Success" ? Effect.void : held.release),
        ),
      ),
    )
    this.later(Effect.result(acquired), (result) => {
      if (result?._tag !== "Success") {
        const error = result?._tag === "Failure" ? result.failure : stopped(this, this.ending)
        for (const message of [...(this.mailbox?.takeAll() ?? [])].reverse()) this.giveUp(message, error)
        return
      }
      this.lock = result.success.held
      this.adopt(result.success.reloaded)
      if (this.ending === undefined) this.takeOver(result.success.reloaded.recovered.owed)
    })
  }

  protected releaseLock(lock: HeldLock) {
    this.lock = undefined
    this.environment.run(lock.release)
  }

  /** Nobody knows where the instance stands: it leaves memory, and the next who asks reads the journal. */
  protected forget(steps: ReadonlyArray<Step>, error: SendError) {
    const goesOn = this.works || this.owesStoredEvents
    const waiting = [...steps, ...this.steps].map((step) => step.envelope)
    this.flight = undefined
    this.steps = []
    for (const envelope of waiting) envelope.complete(error)
    for (const message of this.mailbox?.takeAll() ?? []) message.complete(error)
    this.environment.run(this.leave("its place in memory was given up"))
    record(instancesGivenUp, 1, this.environment)
    if (goesOn) this.keeper.bringBack(this.key)
    this.keeper.settled()
  }
}

/** What became of a flight. After a prune only events with ids are left: one of those stands for all of its commit. */
const fateOf = (
  flight: ReadonlyArray<AcceptedStep>,
  events: ReadonlyArray<EventRecord>,
  reached: number,
): "arrived" | "lost" | "untold" => {
  const found = flight.map(({ record }) => [record, events.find(({ sequence }) => sequence === record.sequence)] as const)
  const left = found.filter(([, event]) => event !== undefined)
  if (flight.some(({ sequence }) => sequence > reached) || left.some(([record, event]) => !isSame(record, event))) return "lost"
  if (left.length === flight.length) return "arrived"
  return left.some(([{ dedupeId }]) => dedupeId !== undefined) ? "arrived" : "untold"
}

const isSame = (record: EventRecord, event: EventRecord | undefined): boolean =>
  record.at === event?.at && record.body === event.body && record.dedupeId === event.dedupeId
