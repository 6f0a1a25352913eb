/** How deadlines become events of their instances, in memory or not, and what becomes of those that came too late. */
import type { PersistenceFailed, SendError } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type { InstanceNotFound } from "../InstanceNotFound.ts"
import { awaitEnvelope } from "../instance/Envelope.ts"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import type { InstanceKey, TimerRecord } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { ClaimedTimer, ClaimRequest, TimersService } from "../store/Timers.ts"
import { record, timersFired, timersStale } from "./EngineMetrics.ts"
import type { InstanceTable } from "./InstanceTable.ts"
import { type DueTimer, TimerHeap } from "./TimerHeap.ts"

/** What a sweeper took upon itself. */
export interface Claimed {
  readonly timers: ReadonlyArray<ClaimedTimer>
  /** So many more were fired and stored by this process before the store had answered. */
  readonly overtaken: number
}

export class TimerScheduler {
  readonly queue: TimerHeap
  readonly #watchers = new Set<Set<string>>()
  readonly #timers: TimersService
  readonly #instances: InstanceTable
  readonly #environment: Environment
  readonly #committer: GroupCommit

  constructor(timers: TimersService, instances: InstanceTable, environment: Environment, committer: GroupCommit) {
    this.#timers = timers
    this.#instances = instances
    this.#environment = environment
    this.#committer = committer
    this.queue = new TimerHeap(environment, (due) => this.#fireAll(due), committer.pace)
  }

  /** Timers of this node that are due are being told to their instances, or what they led to is being stored. */
  get isFiring(): boolean {
    return this.queue.isTelling || this.#committer.isStoringFired
  }

  /** Fires a timer into its instance, wherever that is. Fails where the instance cannot be opened or the event not stored. */
  fire({ machine, id, name, entry, due }: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    const timer = { name, entry, due }
    return Effect.flatMap(this.#instances.open({ machine, id }), (cell) => {
      // Either the timer is stale, or another node has taken the instance further than this one knows.
      if (!cell.hasTimer(timer)) cell.refresh()
      record(timersFired, 1, this.#environment)
      return Effect.map(awaitEnvelope(cell.fire(timer)), () => "fired" as const)
    })
  }

  /** Its state had been left before it was fired. */
  stale(key: InstanceKey, timer: TimerRecord) {
    record(timersStale, 1, this.#environment)
    this.#environment.run(Effect.ignore(this.#timers.complete({ ...key, ...timer })))
  }

  refused(key: InstanceKey, timer: TimerRecord) {
    this.#environment.run(Effect.ignore(this.#timers.complete({ ...key, ...timer })))
  }

  /** What a timer led to is stored. */
  stored(name: string, timer: TimerRecord) {
    for (const watcher of this.#watchers) watcher.add(timerName(name, timer))
  }

  /** Asks the store for timers, but for those that this process fires and stores by itself while the store answers. */
  claim(request: ClaimRequest): Effect.Effect<Claimed, PersistenceFailed> {
    return Effect.suspend(() => {
      const stored = new Set<string>()
      this.#watchers.add(stored)
      return Effect.map(
        Effect.ensuring(
          this.#timers.claim(request),
          Effect.sync(() => this.#watchers.delete(stored)),
        ),
        (claimed) => {
          const timers = claimed.filter((timer) => !stored.has(timerName(instanceName(timer), timer)))
          return { timers, overtaken: claimed.length - timers.length }
        },
      )
    })
  }

  #fireAll(due: ReadonlyArray<DueTimer>) {
    const absent = this.#fireLive(due)
    if (absent.length === 0) return
    const opened = this.#instances.openEach(absent.map(({ key }) => key))
    // What cannot be opened now is left to the sweeper.
    this.#environment.run(Effect.ignore(Effect.map(opened, () => this.#fireLive(absent))))
  }

  /** Fires into those that are in memory, and tells whose instances are not. A timer that its instance does not have is over. */
  #fireLive(due: ReadonlyArray<DueTimer>): ReadonlyArray<DueTimer> {
    const absent: Array<DueTimer> = []
    let fired = 0
    for (const one of due) {
      const cell = this.#instances.findNamed(one.name)
      if (cell === undefined) absent.push(one)
      else if (cell.hasTimer(one.timer)) {
        cell.fire(one.timer)
        fired++
      }
    }
    record(timersFired, fired, this.#environment)
    return absent
  }
}

const timerName = (name: string, timer: TimerRecord): string => `${name}\u0000${timer.name}\u0000${timer.entry}`
