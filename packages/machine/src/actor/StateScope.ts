/** The work, timers and child actors of a state or a group. Leaving it ends all of them. */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Message, Result } from "./Mailbox.ts"
import type { Supervisor } from "./Supervision.ts"

type Run = <A, E>(effect: Effect.Effect<A, E, unknown>) => Fiber.Fiber<A, E>

/** A child actor as its scope sees it. */
interface Child {
  readonly isRunning: boolean
  readonly listen: (listener: { readonly next: () => void; readonly end: () => void }) => () => void
}

interface Stoppable {
  readonly stop: (reason?: string) => Effect.Effect<void>
}

const none: ReadonlyArray<never> = []

export class StateScope {
  /** The scope is closed: it starts and sends nothing. */
  closed = false
  /** The work of the state or group was started. */
  isStarted = false
  /** Restarts of work that failed. */
  supervisor: Supervisor | undefined = undefined
  /** Restarts of work that failed because of an outage. They do not count as failures of the work. */
  outage: Supervisor | undefined = undefined
  #isLeft = false
  readonly #fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  // Made when they are needed: most states have neither.
  #timers: Map<string, Fiber.Fiber<void>> | undefined = undefined
  #children: Map<Child, Stoppable> | undefined = undefined
  /** Events of this scope that still wait in the mailbox, with the timer that sent them. */
  readonly #queued = new Map<Message, string | undefined>()

  /** Starts work. `ended` is called with its exit, unless the state is left first. */
  start<A, E>(run: Run, work: Effect.Effect<A, E, unknown>, ended: (exit: Exit.Exit<A, E>) => void) {
    // Earlier work may have ended the state the moment it was started.
    if (this.closed) return
    const fiber = run(work)
    this.#fibers.add(fiber)
    fiber.addObserver((exit) => {
      this.#fibers.delete(fiber)
      if (!this.closed) ended(exit)
    })
  }

  /** Starts or restarts a named timer; `Infinity` cancels it. Drops an event of the earlier timer that still waits in the mailbox. */
  arm(run: Run, name: string, millis: number, stale: () => Result, due: () => void) {
    this.#timers ??= new Map()
    const timers = this.#timers
    timers.get(name)?.interruptUnsafe()
    this.#drop(stale, (timer) => timer === name)
    if (millis === Number.POSITIVE_INFINITY) {
      timers.delete(name)
      return
    }
    const fiber = run(Effect.sleep(millis))
    timers.set(name, fiber)
    fiber.addObserver((exit) => {
      if (exit._tag !== "Success" || timers.get(name) !== fiber || this.closed) return
      timers.delete(name)
      due()
    })
  }

  /** A child actor ends when the state is left. */
  adopt(child: Child, actor: Stoppable) {
    this.#children ??= new Map()
    const children = this.#children.set(child, actor)
    child.listen({ next: () => undefined, end: () => children.delete(child) })
  }

  /** Remembers that an event of this scope waits in the mailbox. */
  queue(message: Message, timer: string | undefined) {
    this.#queued.set(message, timer)
    message.tracker = () => this.#queued.delete(message)
  }

  /** Ends work and timers. Events they have sent before are still decided. */
  stop() {
    if (this.closed) return
    this.closed = true
    for (const timer of this.#timers?.values() ?? none) timer.interruptUnsafe()
    for (const fiber of [...this.#fibers]) fiber.interruptUnsafe()
  }

  /** Ends everything. Returns an Effect that waits for work that takes time to end. */
  close(stale: () => Result): Effect.Effect<void> | undefined {
    if (this.#isLeft) return undefined
    this.#isLeft = true
    this.stop()
    // Work that waits for its own event, and cannot be interrupted there, is not waited for.
    this.#drop(stale, () => true)
    const lasting = [...this.#fibers].filter((fiber) => fiber.pollUnsafe() === undefined)
    const children = [...(this.#children ?? none)].filter(([child]) => child.isRunning)
    if (lasting.length === 0 && children.length === 0) return undefined
    return Effect.andThen(
      Fiber.awaitAll(lasting),
      Effect.forEach(children, ([, child]) => child.stop("the state it belonged to was left"), { discard: true, concurrency: "unbounded" }),
    )
  }

  #drop(stale: () => Result, isFrom: (timer: string | undefined) => boolean) {
    for (const [message, timer] of this.#queued) {
      if (!isFrom(timer)) continue
      this.#queued.delete(message)
      // The event that left the state may have its result already. Then no error is built, which would be slow.
      if (message.result === undefined) message.complete(stale())
    }
  }
}
