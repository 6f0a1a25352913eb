/** Storing what an instance decided, and finding out what became of it when the store did not say. */
import { LockingFailed, PersistenceFailed, type SendError, SequenceConflict } from "@detent/machine"
import { Mailbox, type Node, stopped } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { Commit, CommitOutcome, EventRecord, SnapshotRecord } from "./Commit.ts"
import type { Doubtful } from "./Committer.ts"
import { conflicts } from "./EngineMetrics.ts"
import { InstanceStanding } from "./InstanceStanding.ts"
import type { Reloaded } from "./Keeper.ts"
import { snapshotDue } from "./SnapshotDue.ts"
import { type AcceptedStep, type Step, timersAfter } from "./Step.ts"

/** An event that keeps meeting newer sequences is given up after so many. */
const conflictLimit = 50

export abstract class InstanceStoring extends InstanceStanding {
  takeCommit(): Commit | undefined {
    this.inLine = false
    const steps = this.steps
    this.steps = []
    this.flight = steps
    const accepted = steps.filter((step) => step._tag === "Accepted")
    const last = accepted.at(-1)
    this.snapshotInFlight = undefined
    if (last === undefined) {
      this.settleSteps(steps)
      return undefined
    }
    const { machine, id } = this.key
    const timers = accepted.reduce((before, step) => timersAfter(before, step), this.storedTimers)
    const node = this.compiled.nodes.get(last.decision.state._tag) as Node
    const moment = { sequence: last.sequence, at: last.at }
    const tags = accepted.map((step) => step.decision.state._tag)
    const due = !this.owesEvents && snapshotDue(this.registered.snapshots, this.lastSnapshot, moment, tags)
    const snapshot = due ? this.snapshotOf(last) : undefined
    this.snapshotInFlight = snapshot
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
      clearTimers: [...this.storedTimers.keys()].filter((name) => !timers.has(name)),
      setTimers: [...timers.values()].filter((timer) => this.storedTimers.get(timer.name)?.entry !== timer.entry),
      commands: accepted.flatMap((step) => step.commands),
      fence: this.lock?.fence,
    }
  }

  /** A state that cannot be written is no reason to lose the event that led to it. */
  protected snapshotOf({ sequence, at, decision }: AcceptedStep): SnapshotRecord | undefined {
    try {
      return { sequence, at, version: this.registered.version, body: this.registered.codec.encodeState(decision.state) }
    } catch (cause) {
      this.environment.run(Effect.logError(`${this.machine} ${this.id}: no snapshot at ${sequence}: its state cannot be encoded`, cause))
      return undefined
    }
  }

  committed(outcome: CommitOutcome | Doubtful) {
    const steps = this.flight ?? []
    switch (outcome._tag) {
      case "Stored":
        this.failing = undefined
        return this.settleSteps(steps)
      case "Doubtful":
        return this.doubt(outcome.error, steps)
      case "PersistenceFailed":
        return this.reload(steps, outcome, steps)
      case "Conflict":
        return this.conflict(steps, outcome.actual)
      case "Duplicate":
        return this.duplicate(steps, outcome.dedupeId)
      case "Fenced": {
        const { machine, id } = this.key
        this.lock = undefined
        const error = new LockingFailed({ machine, id, problem: "lost" })
        // A flight that the store failed at before may have arrived while the lock was still held.
        if (this.doubted !== undefined) return this.reload(steps, error, [...steps, ...this.steps])
        return this.forget(steps, error)
      }
    }
  }

  /** What was in flight is stored: now it may be seen. */
  protected settleSteps(steps: ReadonlyArray<Step>) {
    this.flight = undefined
    if (this.snapshotInFlight !== undefined) {
      this.lastSnapshot = this.snapshotInFlight
      if (!this.registered.keepJournal) this.keeper.prune(this.key, this.snapshotInFlight.sequence)
    }
    this.snapshotInFlight = undefined
    this.awaitsStore = this.steps.length > 0 && this.awaitsStore
    this.doubted = undefined
    const before = this.storedTimers
    for (const step of steps) {
      if (step._tag === "Refused") {
        this.answer(step.envelope, step.error)
        continue
      }
      this.storedTimers = timersAfter(this.storedTimers, step)
      if (step.envelope.dedupeId !== undefined) this.ids?.delete(step.envelope.dedupeId)
      for (const envelope of step.raised) envelope.raised = false
      this.carryOut(step)
    }
    if (before !== this.storedTimers) this.keeper.arm(this, this.storedTimers)
    if (this.steps.length > 0) this.getInLine()
    this.pump()
    this.keeper.settled()
  }

  /** The store did not say whether it stored: it is asked until it tells, and the same commit is not sent twice. */
  protected doubt(error: PersistenceFailed, steps: ReadonlyArray<Step>) {
    const asked = this.environment.clock.currentTimeMillisUnsafe()
    this.failing = { since: this.failing?.since ?? asked, times: (this.failing?.times ?? 0) + 1 }
    const { since, times } = this.failing
    const flight = steps.filter((step) => step._tag === "Accepted")
    this.doubted = [flight, ...(this.doubted ?? [])]
    this.later(Effect.result(this.whatIsStored()), (told) => {
      if (told?._tag !== "Success" || told.success.reloaded === undefined)
        return this.forget(steps, told?._tag === "Failure" ? told.failure : error)
      const { arrived, reloaded } = told.success
      if (arrived !== undefined) {
        this.failing = undefined
        return arrived === flight ? this.settleUpTo(steps, reloaded) : this.settleLate(arrived, steps, reloaded, error)
      }
      const now = this.environment.clock.currentTimeMillisUnsafe()
      if (now - since >= this.keeper.storeTimeoutMillis) {
        return this.redeliver(steps, reloaded, error, [...steps, ...this.steps])
      }
      // The store can be read but not written: it is given time.
      this.later(Effect.sleep(Math.min(25 * 2 ** times, 1000)), () => this.redeliver(steps, reloaded, error))
    })
  }

  /** Where the instance stands by the journal, and whether that has one of the flights the store failed at. */
  protected whatIsStored() {
    return Effect.gen({ self: this }, function* () {
      const reloaded = yield* this.askUntilTold()
      const flights = this.doubted
      if (flights === undefined) return { reloaded, arrived: undefined }
      const longest = Math.max(...flights.map((flight) => flight.length))
      const events = yield* this.patiently(this.keeper.journal.events(this.key, this.sequence, longest))
      return { reloaded, arrived: flights.find((flight) => areJournaled(flight, events)) }
    })
  }

  /** A flight arrived after its events were decided anew: what was decided then counts, and the rest is decided on top of it. */
  protected settleLate(
    flight: ReadonlyArray<AcceptedStep>,
    steps: ReadonlyArray<Step>,
    reloaded: Reloaded,
    error: SendError,
    given: ReadonlyArray<Step> = [],
  ) {
    const last = flight.at(-1) as AcceptedStep
    const stored = new Set(flight.map((step) => step.envelope))
    const raised = flight.flatMap((step) => step.raised).filter((envelope) => !stored.has(envelope))
    const again = [...steps, ...this.steps]
      .filter((step) => !given.includes(step))
      .map((step) => step.envelope)
      .filter((envelope) => !envelope.raised && envelope.result === undefined && !stored.has(envelope))
    this.mailbox ??= new Mailbox()
    this.mailbox.unshift([...raised, ...again, ...this.mailbox.takeAll().filter((message) => !message.raised && !stored.has(message))])
    this.steps = []
    this.awaitsStore = false
    this.unblock()
    this.ahead = {
      state: last.decision.state,
      node: this.compiled.nodes.get(last.decision.state._tag) as Node,
      sequence: last.sequence,
      timers: flight.reduce((before, step) => timersAfter(before, step), this.storedTimers),
    }
    this.settleUpTo(flight, reloaded)
    for (const { envelope } of given) if (!stored.has(envelope)) this.complete(envelope, error)
  }

  /** What was in flight is stored after all; others may have written since. */
  protected settleUpTo(steps: ReadonlyArray<Step>, reloaded: Reloaded) {
    const last = steps.findLast((step) => step._tag === "Accepted")
    this.settleSteps(steps)
    if (last !== undefined && reloaded.recovered.sequence > last.sequence) this.refresh()
  }

  /** Another node has gone further: the journal is read before anything else is decided. */
  refresh() {
    // What is on its way finds out by itself.
    if (this.ending !== undefined || this.isAhead || this.isBusy) return
    const { machine, id } = this.key
    this.reload([], new PersistenceFailed({ machine, id, operation: "read again", cause: new Error("it is gone") }))
  }

  protected askUntilTold(): Effect.Effect<Reloaded | undefined, SendError> {
    return this.patiently(this.keeper.reload(this.registered, this.key))
  }

  protected patiently<A, E extends SendError>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.retry(effect, { schedule: this.keeper.doubt, while: (failure) => failure._tag === "PersistenceFailed" })
  }

  protected conflict(steps: ReadonlyArray<Step>, actual: number) {
    const { machine, id } = this.key
    this.environment.run(Metric.update(conflicts, 1))
    const error = new SequenceConflict({ machine, id, expected: this.sequence, actual })
    const given = steps.filter((step) => ++step.envelope.conflicts > conflictLimit || this.keeper.onConflict === "fail")
    this.reload(steps, error, given)
  }

  protected duplicate(steps: ReadonlyArray<Step>, dedupeId: string) {
    const repeated = steps.find((step) => step.envelope.dedupeId === dedupeId)
    const { machine, id } = this.key
    const missing = new PersistenceFailed({ machine, id, operation: "find the first event of an id", cause: new Error("it is gone") })
    if (repeated !== undefined) this.answer(repeated.envelope, missing)
    this.reload(
      steps.filter((step) => step !== repeated),
      missing,
    )
  }

  /** Reads the journal and decides anew on what was not stored, but for those that are given up. */
  protected reload(steps: ReadonlyArray<Step>, error: SendError, given: ReadonlyArray<Step> = []) {
    this.later(Effect.result(this.whatIsStored()), (told) => {
      if (told?._tag !== "Success" || told.success.reloaded === undefined)
        return this.forget(steps, told?._tag === "Failure" ? told.failure : error)
      const { reloaded, arrived } = told.success
      if (arrived !== undefined) this.settleLate(arrived, steps, reloaded, error, given)
      else this.redeliver(steps, reloaded, error, given)
    })
  }

  /** Who is given up is told once the instance stands where the journal says. */
  protected redeliver(steps: ReadonlyArray<Step>, reloaded: Reloaded, error: SendError, given: ReadonlyArray<Step> = []) {
    const again = [...steps, ...this.steps]
      .filter((step) => !given.includes(step))
      .map((step) => step.envelope)
      .filter((envelope) => !envelope.raised && envelope.result === undefined)
    this.flight = undefined
    this.steps = []
    this.awaitsStore = false
    this.unblock()
    this.adopt(reloaded)
    if (this.ending === undefined) {
      this.mailbox ??= new Mailbox()
      this.mailbox.unshift([...again, ...this.mailbox.takeAll().filter((message) => !message.raised)])
      this.takeOver(reloaded.recovered.owed)
    } else for (const envelope of again) this.answer(envelope, stopped(this, this.ending))
    for (const { envelope } of given) this.complete(envelope, error)
    this.pump()
  }

  /** Takes the journal's word for where the instance stands. */
  protected adopt({ opened, recovered }: Reloaded) {
    const moved = recovered.sequence !== this.sequence
    this.sequence = recovered.sequence
    this.lastTransitionAt = recovered.at
    this.storedTimers = new Map(opened.timers.map((timer) => [timer.name, timer]))
    this.lastSnapshot = opened.snapshot ?? this.lastSnapshot
    if (moved) this.doubted = undefined
    if (moved) this.relocate(recovered.state, recovered.past, opened.record, recovered.stopped)
    this.ahead = this.standing()
    if (moved && this.postponed !== undefined) {
      this.mailbox ??= new Mailbox()
      this.mailbox.unshift(this.postponed)
      this.postponed = undefined
    }
    this.keeper.arm(this, this.storedTimers)
  }

  /** Nobody knows where the instance stands: it leaves memory, and the next who asks reads the journal. */
  protected forget(steps: ReadonlyArray<Step>, error: SendError) {
    const waiting = [...steps, ...this.steps].map((step) => step.envelope)
    this.flight = undefined
    this.steps = []
    for (const envelope of waiting) envelope.complete(error)
    for (const message of this.mailbox?.takeAll() ?? []) message.complete(error)
    this.environment.run(this.leave("its place in memory was given up"))
  }
}

const areJournaled = (flight: ReadonlyArray<AcceptedStep>, events: ReadonlyArray<EventRecord>): boolean =>
  flight.length > 0 &&
  flight.every(({ record }, index) => {
    const event = events[index]
    return event?.sequence === record.sequence && event.at === record.at && event.body === record.body && event.dedupeId === record.dedupeId
  })
