/**
 * Deadlines of this process, armed in memory: one fiber sleeps until the earliest, and all that are due at once fire together.
 * Deadlines of the same millisecond share a place in the heap, and one sleeping fiber serves any number of timers.
 */
import type { Environment } from "@detent/machine/internal"
import type { InstanceKey, TimerRecord } from "@detent/store"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Pace } from "../runtime/GroupCommit.ts"

/** A timer that is due. */
export interface DueTimer {
  readonly name: string
  readonly key: InstanceKey
  readonly timer: TimerRecord
}

interface Armed extends DueTimer {
  /** Another timer of the same instance. */
  next: Armed | undefined
  cancelled: boolean
}

/** All timers of one instant, in the order they were armed. */
interface Instant {
  readonly due: number
  readonly armed: Array<Armed>
  /** How many of them, from the first, have fired. */
  fired: number
}

/** Longer sleeps overflow the timers of the JavaScript engine. */
const longestSleep = 2 ** 31 - 1

/** With more cancelled timers than this, and more cancelled than live ones, the heap is rebuilt. */
const garbageLimit = 1000

/** How many due timers fire in the first portion, so that the store works on them while the next are decided. */
const firstPortion = 128

/** The portion doubles each time, up to this size: the heap yields to other fibers after four to seven milliseconds. */
const largestPortion = 1024

export class TimerHeap {
  readonly #environment: Environment
  readonly #fire: (timers: ReadonlyArray<DueTimer>) => void
  readonly #pace: Pace
  readonly #byInstance = new Map<string, Armed>()
  #byDue = new Map<number, Instant>()
  #heap: Array<Instant> = []
  #size = 0
  #garbage = 0
  #sleeper: Fiber.Fiber<void> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  #isFiring = false
  #closed = false

  constructor(environment: Environment, fire: (timers: ReadonlyArray<DueTimer>) => void, pace: Pace) {
    this.#environment = environment
    this.#fire = fire
    this.#pace = pace
  }

  get size(): number {
    return this.#size
  }

  /** Whether due timers are being fired, portion by portion. */
  get isFiring(): boolean {
    return this.#isFiring
  }

  /** Replaces the timers of an instance. */
  sync(name: string, key: InstanceKey, timers: ReadonlyMap<string, TimerRecord>) {
    const before = this.#byInstance.get(name)
    if (before === undefined && timers.size === 0) return
    let kept: Armed | undefined
    for (let one = before; one !== undefined; ) {
      const { next } = one
      if (timers.get(one.timer.name)?.entry === one.timer.entry) {
        one.next = kept
        kept = one
      } else this.#cancel(one)
      one = next
    }
    let first = kept
    for (const timer of timers.values()) {
      if (isAmong(timer.name, kept)) continue
      first = { name, key, timer, next: first, cancelled: false }
      this.#arm(first)
    }
    if (first === undefined) this.#byInstance.delete(name)
    else this.#byInstance.set(name, first)
    this.#sleep()
  }

  /** Cancels the timers of an instance that are due after a time. */
  cancelAfter(name: string, time: number) {
    let kept: Armed | undefined
    for (let one = this.#byInstance.get(name); one !== undefined; ) {
      const { next } = one
      if (one.timer.due <= time) {
        one.next = kept
        kept = one
      } else this.#cancel(one)
      one = next
    }
    if (kept === undefined) this.#byInstance.delete(name)
    else this.#byInstance.set(name, kept)
  }

  close() {
    this.#closed = true
    this.#sleeper?.interruptUnsafe()
  }

  #arm(one: Armed) {
    const { due } = one.timer
    this.#size++
    const known = this.#byDue.get(due)
    if (known !== undefined) return void known.armed.push(one)
    const instant = { due, armed: [one], fired: 0 }
    this.#byDue.set(due, instant)
    this.#push(instant)
  }

  #cancel(one: Armed) {
    one.cancelled = true
    this.#size--
    this.#garbage++
    if (this.#garbage <= garbageLimit || this.#garbage <= this.#size) return
    const instants = this.#heap
    this.#heap = []
    this.#byDue = new Map()
    this.#garbage = 0
    this.#size = 0
    for (const { armed, fired } of instants) for (const each of armed.slice(fired)) if (!each.cancelled) this.#arm(each)
  }

  #sleep() {
    const earliest = this.#heap[0]
    if (this.#closed || this.#isFiring || earliest === undefined || earliest.due >= this.#wakesAt) return
    this.#sleeper?.interruptUnsafe()
    this.#wakesAt = earliest.due
    const millis = Math.min(longestSleep, Math.max(0, earliest.due - this.#environment.clock.currentTimeMillisUnsafe()))
    const sleeper = this.#environment.run(Effect.sleep(millis))
    this.#sleeper = sleeper
    sleeper.addObserver((exit) => {
      if (exit._tag === "Success" && this.#sleeper === sleeper) this.#wake()
    })
  }

  #wake() {
    this.#isFiring = true
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.#pace.begin()
    this.#environment.run(this.#fireAll)
  }

  readonly #fireAll: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (let portion = firstPortion; ; portion = Math.min(portion * 2, largestPortion)) {
      const due = this.#takeDue(portion)
      if (due.length > 0) this.#fire(due)
      if (due.length < portion) break
      yield* Effect.yieldNow
      yield* this.#pace.turn
      if (this.#closed) break
    }
    this.#isFiring = false
    this.#pace.end()
    this.#sleep()
  })

  /** Takes at most this many of the due timers, the oldest first. */
  #takeDue(limit: number): ReadonlyArray<DueTimer> {
    const now = this.#environment.clock.currentTimeMillisUnsafe()
    const due: Array<Armed> = []
    for (let first = this.#heap[0]; first !== undefined && first.due <= now && due.length < limit; first = this.#heap[0]) {
      while (first.fired < first.armed.length && due.length < limit) {
        const one = first.armed[first.fired++] as Armed
        if (one.cancelled) this.#garbage--
        else due.push(one)
      }
      if (first.fired < first.armed.length) break
      this.#pop()
      this.#byDue.delete(first.due)
    }
    for (const one of due) this.#forget(one)
    return due
  }

  #forget(one: Armed) {
    this.#size--
    const first = this.#byInstance.get(one.name)
    if (first === one && one.next === undefined) return void this.#byInstance.delete(one.name)
    if (first === one) return void this.#byInstance.set(one.name, one.next as Armed)
    for (let before = first; before !== undefined; before = before.next) if (before.next === one) before.next = one.next
  }

  #push(instant: Instant) {
    const heap = this.#heap
    let index = heap.length
    heap.push(instant)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent] as Instant
      if (above.due <= instant.due) break
      heap[index] = above
      index = parent
    }
    heap[index] = instant
  }

  #pop() {
    const heap = this.#heap
    const last = heap.pop() as Instant
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as Instant).due < (heap[child] as Instant).due) child++
      const below = heap[child] as Instant
      if (below.due >= last.due) break
      heap[index] = below
      index = child
    }
    heap[index] = last
  }
}

const isAmong = (timerName: string, first: Armed | undefined): boolean => {
  for (let one = first; one !== undefined; one = one.next) if (one.timer.name === timerName) return true
  return false
}
