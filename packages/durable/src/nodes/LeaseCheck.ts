/**
 * Checks the lease of the node each time one of its fibers continues, before the fiber does anything. A process that was frozen past its
 * lease continues wherever it was stopped: with the answer of a commit, in the middle of a turn, or with the result of a request that
 * its work has made. A timer would notice the loss later than these, when another node has begun the same work.
 *
 * The check runs in the scheduler, which the runtime of Effect asks before every operation whether the fiber yields. When the check finds
 * that the lease has ended, the listeners of `onLost` interrupt all work before it returns, that of the asking fiber included.
 */
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import type { PlacementService } from "./Placement.ts"

/** A fiber that continues is at its first operation. Within a turn the clock is read once in this many operations. */
const operationsPerCheck = 16

class LeaseCheck implements Scheduler.Scheduler {
  /** The scheduler that runs the fibers. */
  readonly scheduler: Scheduler.Scheduler
  readonly #placement: () => PlacementService | undefined
  #wasHeld = false

  constructor(scheduler: Scheduler.Scheduler, placement: () => PlacementService | undefined) {
    this.scheduler = scheduler
    this.#placement = placement
  }

  get executionMode() {
    return this.scheduler.executionMode
  }

  makeDispatcher() {
    return this.scheduler.makeDispatcher()
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return (fiber.currentOpCount % operationsPerCheck === 1 && this.#isLostNow) || this.scheduler.shouldYield(fiber)
  }

  /** Whether the lease has been lost since the last check. The fiber then yields, and takes its interruption before its next operation. */
  get #isLostNow(): boolean {
    const isHeld = this.#placement()?.fence() !== undefined
    const isLost = this.#wasHeld && !isHeld
    this.#wasHeld = isHeld
    return isLost
  }
}

/** Services with which fibers check the lease of the node. */
export const withLeaseCheck = <R>(context: Context.Context<R>, placement: () => PlacementService | undefined): Context.Context<R> => {
  const current = Context.get(context, Scheduler.Scheduler)
  // A machine that the work of another one registers gets the services of that work.
  const scheduler = current instanceof LeaseCheck ? current.scheduler : current
  return Context.add(context, Scheduler.Scheduler, new LeaseCheck(scheduler, placement))
}
