/**
 * Deadlines of this process, armed in memory: the earliest is slept for, and all that are due at once are told together.
 * A heap and one sleeping fiber serve any number of timers; 20,000 due at one instant wake it once.
 */
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { InstanceKey, TimerRecord } from "./Commit.ts"

interface Armed {
  readonly key: InstanceKey
  readonly timer: TimerRecord
  cancelled: boolean
}

/** Longer sleeps overflow the timers of the JavaScript engine. */
const longestSleep = 2 ** 31 - 1

/** With more cancelled entries than this, and more than live ones, the heap is built anew. */
const garbageLimit = 1000

export class TimerQueue {
  readonly #environment: Environment
  readonly #due: (timers: ReadonlyArray<InstanceKey & TimerRecord>) => void
  readonly #byInstance = new Map<string, Map<string, Armed>>()
  #heap: Array<Armed> = []
  #garbage = 0
  #sleeper: Fiber.Fiber<void> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  #closed = false

  constructor(environment: Environment, due: (timers: ReadonlyArray<InstanceKey & TimerRecord>) => void) {
    this.#environment = environment
    this.#due = due
  }

  get size(): number {
    return this.#heap.length - this.#garbage
  }

  /** The timers of an instance are now these: what is not among them is cancelled. */
  sync(name: string, key: InstanceKey, timers: ReadonlyMap<string, TimerRecord>) {
    const armed = this.#byInstance.get(name)
    for (const [timerName, one] of armed ?? []) {
      if (timers.get(timerName)?.entry !== one.timer.entry) this.#cancel(armed, timerName, one)
    }
    if (timers.size === 0) {
      this.#byInstance.delete(name)
      return
    }
    const current = armed ?? new Map<string, Armed>()
    this.#byInstance.set(name, current)
    for (const timer of timers.values()) {
      if (current.has(timer.name)) continue
      const one = { key, timer, cancelled: false }
      current.set(timer.name, one)
      this.#push(one)
    }
    this.#sleep()
  }

  close() {
    this.#closed = true
    this.#sleeper?.interruptUnsafe()
  }

  #cancel(armed: Map<string, Armed> | undefined, timerName: string, one: Armed) {
    one.cancelled = true
    armed?.delete(timerName)
    this.#garbage++
    if (this.#garbage <= garbageLimit || this.#garbage * 2 <= this.#heap.length) return
    const live = this.#heap.filter((entry) => !entry.cancelled)
    this.#heap = []
    this.#garbage = 0
    for (const entry of live) this.#push(entry)
  }

  #sleep() {
    const earliest = this.#heap[0]
    if (this.#closed || earliest === undefined || earliest.timer.due >= this.#wakesAt) return
    this.#sleeper?.interruptUnsafe()
    this.#wakesAt = earliest.timer.due
    const millis = Math.min(longestSleep, Math.max(0, earliest.timer.due - this.#environment.clock.currentTimeMillisUnsafe()))
    const sleeper = this.#environment.run(Effect.sleep(millis))
    this.#sleeper = sleeper
    sleeper.addObserver((exit) => {
      if (exit._tag === "Success" && this.#sleeper === sleeper) this.#wake()
    })
  }

  #wake() {
    const now = this.#environment.clock.currentTimeMillisUnsafe()
    const due: Array<InstanceKey & TimerRecord> = []
    for (let first = this.#heap[0]; first !== undefined && first.timer.due <= now; first = this.#heap[0]) {
      this.#pop()
      if (first.cancelled) this.#garbage--
      else {
        this.#byInstance.get(`${first.key.machine}\u0000${first.key.id}`)?.delete(first.timer.name)
        due.push({ ...first.key, ...first.timer })
      }
    }
    this.#wakesAt = Number.POSITIVE_INFINITY
    if (due.length > 0) this.#due(due)
    this.#sleep()
  }

  #push(one: Armed) {
    const heap = this.#heap
    let index = heap.length
    heap.push(one)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent] as Armed
      if (above.timer.due <= one.timer.due) break
      heap[index] = above
      index = parent
    }
    heap[index] = one
  }

  #pop() {
    const heap = this.#heap
    const last = heap.pop() as Armed
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as Armed).timer.due < (heap[child] as Armed).timer.due) child++
      const below = heap[child] as Armed
      if (below.timer.due >= last.timer.due) break
      heap[index] = below
      index = child
    }
    heap[index] = last
  }
}
