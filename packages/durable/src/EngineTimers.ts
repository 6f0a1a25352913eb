/** How deadlines become events of their instances, in memory or not, and what becomes of those that came too late. */
import type { PersistenceFailed, SendError } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type { InstanceKey, TimerRecord } from "./Commit.ts"
import type { EngineInstances } from "./EngineInstances.ts"
import { record, timersFired, timersStale } from "./EngineMetrics.ts"
import { awaitEnvelope, type Envelope } from "./Envelope.ts"
import type { InstanceCell } from "./InstanceCell.ts"
import type { InstanceNotFound } from "./InstanceNotFound.ts"
import { type DueTimer, TimerQueue } from "./TimerQueue.ts"
import type { TimersService } from "./Timers.ts"

export class EngineTimers {
  readonly queue: TimerQueue
  readonly #timers: TimersService
  readonly #instances: EngineInstances
  readonly #environment: Environment

  constructor(timers: TimersService, instances: EngineInstances, environment: Environment, turn: Effect.Effect<void>) {
    this.#timers = timers
    this.#instances = instances
    this.#environment = environment
    this.queue = new TimerQueue(environment, (due) => this.#fireAll(due), turn)
  }

  /** Fires a timer into its instance, wherever that is. Fails where the instance cannot be opened or the event not stored. */
  fire(timer: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    return Effect.flatMap(this.#instances.open(timer), (cell) => {
      // Either the timer is stale, or another node has taken the instance further than this one knows.
      if (!cell.hasTimer(timer)) cell.refresh()
      const envelope = this.#deliver(cell, timer)
      return Effect.map(awaitEnvelope(envelope), () => "fired" as const)
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

  #fireAll(due: ReadonlyArray<DueTimer>) {
    const absent: Array<DueTimer> = []
    for (const one of due) {
      const cell = this.#instances.findNamed(one.name)
      if (cell === undefined) absent.push(one)
      else if (cell.hasTimer(one.timer)) this.#deliver(cell, one.timer)
    }
    // What cannot be opened now is left to the sweeper.
    if (absent.length > 0) this.#environment.run(Effect.ignore(this.#fireAbsent(absent)))
  }

  #fireAbsent(due: ReadonlyArray<DueTimer>): Effect.Effect<void, PersistenceFailed> {
    return Effect.map(this.#instances.openEach(due.map(({ key }) => key)), () => {
      for (const { name, timer } of due) {
        const cell = this.#instances.findNamed(name)
        if (cell?.hasTimer(timer)) this.#deliver(cell, timer)
      }
    })
  }

  #deliver(cell: InstanceCell, { name, entry, due }: TimerRecord): Envelope {
    record(timersFired, 1, this.#environment)
    return cell.fire({ name, entry, due })
  }
}
