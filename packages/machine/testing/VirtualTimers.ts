/** The timeouts of the current state and its groups, and the delayed events of the instance, on a clock that only a test moves. */
import type { DelayRequest, TimerRequest } from "../src/decision/Decision.ts"
import { timersOnEnter, timersOnStay } from "../src/decision/Timeout.ts"
import { isTimerOf, type Node } from "../src/define/Compile.ts"
import type { Tagged } from "../src/define/Declarations.ts"

interface Timer {
  readonly name: string
  readonly deadline: number
  /** The delayed event; undefined for a timeout of the state. */
  readonly event?: Tagged | undefined
}

export class VirtualTimers {
  /** In the order they were armed: of two that are due at the same time, the earlier armed fires first. */
  #timers: ReadonlyArray<Timer> = []

  /**
   * A state was entered. Starts its timers and those of the groups entered with it; delayed events and timers of the `kept` groups
   * continue; all others end.
   */
  enter(node: Node, before: Tagged, state: Tagged, now: number, kept: number) {
    const groups = node.groups.slice(0, kept)
    this.#timers = this.#timers.filter(({ name, event }) => event !== undefined || groups.some((group) => isTimerOf(group, name)))
    this.#arm(timersOnEnter(node, state, now, kept, before), now)
  }

  /** An event was handled without leaving the state: idle timers restart, and those whose date has changed. */
  stay(node: Node, before: Tagged, state: Tagged, now: number) {
    if (!node.mayRestartTimeout) return
    this.#arm(timersOnStay(node, before, state, now), now)
  }

  #arm(requests: ReadonlyArray<TimerRequest>, now: number) {
    this.#timers = [
      ...this.#timers.filter((timer) => timer.event !== undefined || !requests.some(({ name }) => name === timer.name)),
      ...requests.map(({ name, millis }) => ({ name, deadline: now + millis })),
    ]
  }

  /** Sets and cancels delayed events. They outlast the state. */
  delay(delays: ReadonlyArray<DelayRequest<Tagged>>, now: number) {
    for (const { name, millis, event } of delays) {
      this.#timers = this.#timers.filter((timer) => timer.event === undefined || timer.name !== name)
      if (event !== undefined) this.#timers = [...this.#timers, { name, deadline: now + millis, event }]
    }
  }

  clear() {
    this.#timers = []
  }

  /** Takes out the timer that is due first, if one is due by then. */
  takeDue(until: number): Timer | undefined {
    let due: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.deadline <= until && (due === undefined || timer.deadline < due.deadline)) due = timer
    }
    if (due !== undefined) this.#timers = this.#timers.filter((timer) => timer !== due)
    return due
  }
}
