/** Storing what an instance decided, and finding out what became of it when the store did not say. */
import { LockingFailed, PersistenceFailed, type SendError, SequenceConflict } from "@detent/machine"
import { hasWork, type Node } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { conflicts, record } from "../engine/EngineMetrics.ts"
import type { Doubtful } from "../runtime/GroupCommit.ts"
import type { Commit, CommitOutcome, SnapshotRecord, TimerRecord } from "../store/Commit.ts"
import { type GivenUp, InstanceReloading } from "./InstanceReloading.ts"
import { none } from "./InstanceStanding.ts"
import { encodeSnapshot } from "./SnapshotBody.ts"
import { snapshotDue } from "./SnapshotPolicy.ts"
import { type AcceptedStep, type Step, timersAfter } from "./Step.ts"

/** An event that keeps meeting newer sequences is given up after so many. */
const conflictLimit = 50

/** A store that has been away for long is asked this often whether it can be written again. */
const longestPause = 5000

export abstract class InstanceStoring extends InstanceReloading {
  takeCommit(): Commit | undefined {
    this.inLine = false
    const steps = this.steps
    this.steps = []
    this.flight = steps
    const accepted = acceptedOf(steps)
    const last = accepted.at(-1)
    this.snapshotInFlight = undefined
    if (last === undefined) {
      this.settleSteps(steps)
      return undefined
    }
    const { machine, id } = this.key
    let timers = this.storedTimers
    for (const step of accepted) timers = timersAfter(timers, step)
    const node = this.compiled.nodes.get(last.decision.state._tag) as Node
    const moment = { sequence: last.sequence, at: last.at }
    const due = !this.owesEvents && snapshotDue(this.registered.snapshots, this.lastSnapshot, moment, accepted)
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
        resident: !node.final && last.decision._tag !== "Stop" && hasWork(node, last.decision.state),
      },
      origin: undefined,
      events: accepted.length === 1 ? [last.record] : accepted.map((step) => step.record),
      snapshot,
      clearTimers: timers === this.storedTimers ? none : clearedBetween(this.storedTimers, timers),
      setTimers: timers === this.storedTimers || timers.size === 0 ? none : setBetween(this.storedTimers, timers),
      commands: accepted.length === 1 ? last.commands : accepted.flatMap((step) => step.commands),
      fence: this.lock?.fence,
    }
  }

  /** A state that cannot be written is no reason to lose the event that led to it. */
  protected snapshotOf({ sequence, at }: AcceptedStep): SnapshotRecord | undefined {
    try {
      return { sequence, at, version: this.registered.version, body: encodeSnapshot(this.registered.codec, this.ahead) }
    } catch (cause) {
      this.environment.run(Effect.logError(`${this.machine} ${this.id}: no snapshot at ${sequence}: its state cannot be encoded`, cause))
      return undefined
    }
  }

  committed(outcome: CommitOutcome | Doubtful) {
    const steps = this.flight ?? []
    if (outcome._tag !== "Stored") for (const { envelope } of steps) envelope.trace?.notStored(outcome)
    switch (outcome._tag) {
      case "Stored":
        this.failing = undefined
        return this.settleSteps(steps)
      case "Doubtful":
        return this.doubt(outcome.error, steps)
      case "PersistenceFailed":
        // A timer that is due comes again at once, and may be refused again.
        if (steps.some(({ envelope }) => envelope.timer !== undefined)) this.pause()
        return this.reload(steps, outcome, givenUp(steps, outcome))
      case "Conflict":
        return this.conflict(steps, outcome.actual)
      case "Duplicate":
        return this.duplicate(steps, outcome.dedupeId)
      case "Fenced": {
        const { machine, id } = this.key
        this.lock = undefined
        const error = new LockingFailed({ machine, id, problem: "lost" })
        // A flight that the store failed at before may have arrived while the lock was still held.
        if (this.doubted !== undefined) return this.reload(steps, error, givenUp([...steps, ...this.steps], error))
        return this.forget(steps, error)
      }
    }
  }

  /** What was in flight is stored: now it may be seen. */
  protected settleSteps(steps: ReadonlyArray<Step>) {
    this.flight = undefined
    if (this.snapshotInFlight !== undefined) {
      this.lastSnapshot = this.snapshotInFlight
      if (!this.registered.keepJournal) this.pruneThrough(this.snapshotInFlight.sequence)
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
      if (step.envelope.timer !== undefined) this.keeper.timerStored(this, step.envelope.timer)
      if (step.envelope.dedupeId !== undefined) this.ids?.delete(step.envelope.dedupeId)
      for (const envelope of step.raised) envelope.raised = false
      step.envelope.trace?.stored(step.sequence, step.commands)
      this.carryOut(step)
    }
    if (before !== this.storedTimers) this.keeper.arm(this, this.storedTimers)
    if (this.steps.length > 0) this.getInLine()
    this.pump()
    this.keeper.settled()
  }

  protected pruneThrough(sequence: number) {
    this.keeper.prune(this.key, sequence, this.prunedThrough, () => {
      this.prunedThrough = sequence
    })
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
        return arrived === flight ? this.settleUpTo(steps, reloaded) : this.settleLate(arrived, steps, reloaded)
      }
      const now = this.environment.clock.currentTimeMillisUnsafe()
      const untold = this.alsoUntold(told.success, new Map())
      // The store can be read but not written: it is given time.
      if (now - since < this.keeper.storeTimeoutMillis) {
        return this.later(Effect.sleep(Math.min(25 * 2 ** times, 1000)), () => this.redeliver(steps, reloaded, untold))
      }
      // What the instance sent itself nobody else would send: it waits for as long as the store is away.
      const envelopes = [...steps, ...this.steps].map((step) => step.envelope)
      const others = envelopes.filter((envelope) => !envelope.isOwn)
      // Timers that are due come again at once.
      if (envelopes.some(({ internal }) => internal)) this.pause(Math.min(25 * 2 ** times, longestPause))
      this.redeliver(steps, reloaded, new Map([...others.map((envelope) => [envelope, error] as const), ...untold]))
    })
  }

  protected conflict(steps: ReadonlyArray<Step>, actual: number) {
    const { machine, id } = this.key
    record(conflicts, 1, this.environment)
    const error = new SequenceConflict({ machine, id, expected: this.sequence, actual })
    const given = steps.filter((step) => ++step.envelope.conflicts > conflictLimit || this.keeper.onConflict === "fail")
    this.reload(steps, error, givenUp(given, error))
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
}

type TimersByName = ReadonlyMap<string, TimerRecord>

const clearedBetween = (before: TimersByName, after: TimersByName): ReadonlyArray<string> =>
  after.size === 0 ? [...before.keys()] : [...before.keys()].filter((name) => !after.has(name))

const setBetween = (before: TimersByName, after: TimersByName): ReadonlyArray<TimerRecord> =>
  [...after.values()].filter((timer) => before.get(timer.name)?.entry !== timer.entry)

/** Nearly always all of them. */
const acceptedOf = (steps: ReadonlyArray<Step>): ReadonlyArray<AcceptedStep> => {
  const isAccepted = (step: Step): step is AcceptedStep => step._tag === "Accepted"
  return steps.every(isAccepted) ? steps : steps.filter(isAccepted)
}

const givenUp = (steps: ReadonlyArray<Step>, error: SendError): GivenUp => new Map(steps.map(({ envelope }) => [envelope, error]))
