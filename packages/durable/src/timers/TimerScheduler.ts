/** Fires timers into their instances, in memory or not, and removes stale ones from the store. */
import type { InstanceNotFound, PersistenceFailed, SendError } from "@detent/machine"
import { asVoid, type Environment, outcome } from "@detent/machine/internal"
import type { ClaimRequest, InstanceKey, JournalService, TimerRecord, TimersService } from "@detent/store"
import type { InstanceLife } from "@detent/store/internal"
import { instanceName } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { InstanceTable } from "../live/InstanceTable.ts"
import type { LiveInstance } from "../live/LiveInstance.ts"
import { delayNameOf } from "../machine/DelayedEvents.ts"
import { isOwedTimer } from "../machine/SelfSentEvents.ts"
import type { GroupCommit } from "../runtime/GroupCommit.ts"
import { readTrace, type TracedTimer } from "../runtime/StoredTrace.ts"
import { record, timersFired, timersStale } from "../runtime/Telemetry.ts"
import { type DueTimer, TimerHeap } from "./TimerHeap.ts"
import type { Claimed } from "./TimerSweep.ts"

/** Up to this many timers stay armed when their instances leave memory. Each takes about 150 bytes. */
const armedLimit = 100_000

export class TimerScheduler {
  readonly heap: TimerHeap
  readonly #watchers = new Set<Set<string>>()
  readonly #store: TimersService
  readonly #table: InstanceTable
  readonly #environment: Environment
  readonly #groupCommit: GroupCommit
  /** While very many timers are armed, timers of instances out of memory that are due later than this are left to the sweeper. */
  readonly #nearMillis: number
  /** Where the traces of events are read; undefined where no tracer is installed. */
  readonly #journal: JournalService | undefined

  constructor(
    store: TimersService,
    table: InstanceTable,
    environment: Environment,
    groupCommit: GroupCommit,
    nearMillis: number,
    journal?: JournalService,
  ) {
    this.#store = store
    this.#table = table
    this.#environment = environment
    this.#groupCommit = groupCommit
    this.#nearMillis = nearMillis
    this.#journal = journal
    this.heap = new TimerHeap(environment, (due) => this.#fireAll(due), groupCommit.pace)
  }

  /** Due timers of this process are being fired, or their events are being stored. */
  get isFiring(): boolean {
    return this.heap.isFiring || this.#groupCommit.isStoringFired
  }

  /** An instance has left memory. If very many timers are armed, its far deadlines are left to the sweeper. */
  forgetFar(name: string) {
    if (this.heap.size <= armedLimit) return
    this.heap.cancelAfter(name, this.#environment.clock.currentTimeMillisUnsafe() + this.#nearMillis)
  }

  /** Fires a timer into its instance, in memory or not. Fails where the instance cannot be opened or the event cannot be stored. */
  fire({ machine, id, name, entry, due }: InstanceKey & TimerRecord): Effect.Effect<"fired" | "stale", SendError | InstanceNotFound> {
    const plain = { name, entry, due }
    const found = Effect.all([this.#table.open({ machine, id }), this.#traced({ machine, id }, plain)])
    return Effect.flatMap(found, ([live, timer]): Effect.Effect<"fired", SendError | InstanceNotFound> => {
      if (isOwedTimer(timer)) {
        live.handleSelfSent(timer)
        return Effect.succeed("fired")
      }
      // Either the timer is stale, or another node has changed the instance.
      if (!live.position.hasTimer(timer)) live.refresh()
      record(timersFired, 1, this.#environment)
      return Effect.as(outcome(live.fire(timer), asVoid), "fired" as const)
    })
  }

  #fire(live: LiveInstance, timer: TimerRecord) {
    if (this.#journal === undefined) live.fire(timer)
    else this.#environment.run(Effect.map(this.#traced(live.key, timer), (traced) => live.fire(traced)))
  }

  /** The timer with the trace of the event that set it, where a tracer is installed. */
  #traced(key: InstanceKey, timer: TimerRecord): Effect.Effect<TracedTimer> {
    if (this.#journal === undefined || isOwedTimer(timer)) return Effect.succeed(timer)
    return Effect.map(readTrace(this.#journal, key, timer.entry), (cause) => (cause === undefined ? timer : { ...timer, cause }))
  }

  /** The state of the timer was left before it fired. */
  stale(key: InstanceLife, timer: TimerRecord) {
    record(timersStale, 1, this.#environment)
    this.#complete(key, timer)
  }

  /** No self-sent event of this timer row has to be handled any more. */
  handled(key: InstanceLife, timer: TimerRecord) {
    this.#complete(key, timer)
  }

  /** The instance refuses the event of the timer, in the state that the journal has. */
  refused(key: InstanceLife, timer: TimerRecord, { message }: SendError) {
    const name = delayNameOf(timer) ?? timer.name
    this.#environment.run(Effect.logWarning(`timer ${name} of ${key.machine} ${key.id} was refused, and is removed: ${message}`))
    this.#complete(key, timer)
  }

  #complete(key: InstanceLife, timer: TimerRecord) {
    this.#environment.run(
      Effect.catch(this.#store.complete({ ...key, ...timer }), (error) =>
        Effect.logWarning(`timer ${timer.name} of ${key.machine} ${key.id} could not be removed; the sweeper removes it`, error.message),
      ),
    )
  }

  /** The event of a timer is stored. */
  stored(name: string, timer: TimerRecord) {
    for (const watcher of this.#watchers) watcher.add(timerName(name, timer))
  }

  /** Claims timers from the store, except for those that this process fires and stores while the store answers. */
  claim(request: ClaimRequest): Effect.Effect<Claimed, PersistenceFailed> {
    return Effect.suspend(() => {
      const stored = new Set<string>()
      this.#watchers.add(stored)
      return Effect.map(
        Effect.ensuring(
          this.#store.claim(request),
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
    // An instance that was passive here may belong to another node by now.
    const absent = this.#fireLive(due).filter(({ key }) => this.#table.isLocal(key))
    if (absent.length === 0) return
    const fired = Effect.map(this.#table.openEach(absent.map(({ key }) => key)), () => this.#fireLive(absent))
    this.#environment.run(
      Effect.catch(fired, (error) =>
        Effect.logDebug("due timers are left to the sweeper: their instances could not be read", error.message),
      ),
    )
  }

  /** Fires timers of instances in memory, and returns the others. A timer that its instance no longer has is dropped. */
  #fireLive(due: ReadonlyArray<DueTimer>): ReadonlyArray<DueTimer> {
    const absent: Array<DueTimer> = []
    let fired = 0
    for (const one of due) {
      const live = this.#table.findNamed(one.name)
      if (live === undefined) absent.push(one)
      else if (live.position.hasTimer(one.timer)) {
        this.#fire(live, one.timer)
        fired++
      }
    }
    record(timersFired, fired, this.#environment)
    return absent
  }
}

const timerName = (name: string, timer: TimerRecord): string => `${name}\u0000${timer.name}\u0000${timer.entry}`
