/**
 * Lets callers wait for a store that does not answer, until it does or the store timeout has passed. Background loops do not use it:
 * they have pauses of their own.
 */
import { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { instanceName, monotonicMillis, retryFailed } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { askedBy } from "../runtime/Telemetry.ts"
import type { InstanceContext } from "./InstanceContext.ts"
import type { InstanceTable, OpenError } from "./InstanceTable.ts"
import type { LiveInstance } from "./LiveInstance.ts"

const firstPause = 50
const longestPause = 1000

interface Waiter {
  /** Until when it waits, by the monotonic clock. */
  readonly until: number
  readonly resume: (opened: Exit.Exit<LiveInstance, OpenError>) => void
}

/** The callers that wait for one instance, in the order in which they came. One fiber reads for all of them. */
interface Queue {
  readonly waiters: Set<Waiter>
  latest: PersistenceFailed
  reading: Fiber.Fiber<void> | undefined
}

export class StoreWait {
  readonly #table: InstanceTable
  readonly #context: Pick<InstanceContext, "storeRetry" | "storeTimeoutMillis">
  readonly #environment: Environment
  readonly #queues = new Map<string, Queue>()
  #closed = false

  constructor(table: InstanceTable, context: Pick<InstanceContext, "storeRetry" | "storeTimeoutMillis">, environment: Environment) {
    this.#table = table
    this.#context = context
    this.#environment = environment
  }

  /** Repeats a request of a caller to a store that fails. */
  retry<A, E extends { readonly _tag: string }>(request: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return retryFailed(request, {
      schedule: this.#context.storeRetry,
      while: ({ _tag }) => _tag === "PersistenceFailed" && !this.#closed,
    })
  }

  /** As `InstanceTable.open`, for a caller. Callers of one instance get it in the order in which they came. */
  open(key: InstanceKey): Effect.Effect<LiveInstance, OpenError> {
    return Effect.suspend(() => {
      // An id that is not a string would have the same name as another instance.
      const queue = this.#queues.size === 0 || typeof key.id !== "string" ? undefined : this.#queues.get(instanceName(key))
      if (queue !== undefined) return this.#wait(key, queue.latest)
      return Effect.catchTag(this.#table.open(key), "PersistenceFailed", (error) => this.#wait(key, error))
    })
  }

  /** Callers that wait get the error of the store. */
  close() {
    this.#closed = true
    for (const [name, { latest, reading }] of [...this.#queues]) {
      reading?.interruptUnsafe()
      this.#end(name, Exit.fail(latest))
    }
  }

  #wait(key: InstanceKey, error: PersistenceFailed): Effect.Effect<LiveInstance, OpenError> {
    return Effect.withFiber((fiber) =>
      Effect.callback((resume) => {
        if (this.#closed || this.#context.storeTimeoutMillis === 0) return resume(Effect.fail(error))
        const waiter = { until: this.#now + this.#context.storeTimeoutMillis, resume }
        const name = instanceName(key)
        const queue: Queue = this.#queues.get(name) ?? { waiters: new Set(), latest: error, reading: undefined }
        queue.waiters.add(waiter)
        this.#queues.set(name, queue)
        queue.reading ??= this.#environment.run(askedBy(fiber, this.#read(key, name, queue)))
        return Effect.sync(() => queue.waiters.delete(waiter))
      }),
    )
  }

  #read(key: InstanceKey, name: string, queue: Queue): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (let pause = firstPause; ; pause = Math.min(pause * 1.5, longestPause)) {
        yield* Effect.sleep(pause)
        // All callers were interrupted.
        if (queue.waiters.size === 0) return this.#end(name, Exit.fail(queue.latest))
        const opened = yield* Effect.result(this.#table.open(key))
        if (opened._tag === "Success") return this.#end(name, Exit.succeed(opened.success))
        if (!(opened.failure instanceof PersistenceFailed)) return this.#end(name, Exit.fail(opened.failure))
        queue.latest = opened.failure
        this.#dismiss(queue)
      }
    })
  }

  /** Those whose time is over get the error. */
  #dismiss({ waiters, latest }: Queue) {
    const now = this.#now
    for (const waiter of waiters) {
      if (waiter.until > now) continue
      waiters.delete(waiter)
      waiter.resume(Exit.fail(latest))
    }
  }

  #end(name: string, opened: Exit.Exit<LiveInstance, OpenError>) {
    const queue = this.#queues.get(name)
    this.#queues.delete(name)
    for (const { resume } of queue?.waiters ?? []) resume(opened)
  }

  get #now(): number {
    return monotonicMillis(this.#environment.clock)
  }
}
