/**
 * Performs items in batches: while one batch is in flight, all other items gather for the next. There is no artificial delay: the
 * first item of an idle batcher waits for one turn of the scheduler, so that all items that are ready in that turn share its batch.
 *
 * Each item is completed exactly once, with the exit that the batch has for it. A batch that fails as a whole, by a failure or a
 * defect, fails its items and no others. Callers may be interrupted: an item that was added is performed anyway.
 *
 *     const reads = new Batcher({ run, limit: 500, prepare: (key: Key) => key, perform: readAll })
 *     const row = yield* reads.submit(key)
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { faultsOf } from "./problemOf.ts"

export interface BatcherOptions<Item, A, E, Prepared = Item> {
  /** Starts the fiber that performs batches. It must outlive the callers. */
  readonly run: (effect: Effect.Effect<void>) => unknown
  /** The largest size of a batch. A single item that is larger is a batch of its own. */
  readonly limit: number
  /** The weight of an item towards the limit. Default: 1. */
  readonly sizeOf?: (item: Item) => number
  /** Called when the batch of an item begins. If it throws, that item dies with the exception, and the others are performed. */
  readonly prepare: (item: Item) => Prepared
  /** Returns one exit for each item, in their order. */
  readonly perform: (items: ReadonlyArray<Prepared>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, E>
  /** The exit of an item that is added after the batcher was closed. Default: an interruption. */
  readonly closed?: () => Exit.Exit<A, E>
}

interface Entry<Item, A, E> {
  readonly item: Item
  readonly complete: (exit: Exit.Exit<A, E>) => void
}

/**
 * - `idle`: no item is waiting or in flight.
 * - `running`: a fiber performs one batch after the other.
 * - `closing`: the same, and new items are refused.
 * - `closed`: all items are completed, and new ones are refused.
 */
type Mode = "idle" | "running" | "closing" | "closed"

const ignored = () => {}

export class Batcher<Item, A = void, E = never, Prepared = Item> {
  readonly #options: BatcherOptions<Item, A, E, Prepared>
  #mode: Mode = "idle"
  #waiting: Array<Entry<Item, A, E>> = []
  #inFlight: ReadonlyArray<Entry<Item, A, E>> = []
  #whenClosed: Array<() => void> = []

  constructor(options: BatcherOptions<Item, A, E, Prepared>) {
    this.#options = options
  }

  /** Adds an item, and succeeds or fails with its exit. */
  submit(item: Item): Effect.Effect<A, E> {
    return Effect.callback((resume) => this.add(item, resume))
  }

  /** Adds an item; `complete` is called once, with its exit. */
  add(item: Item, complete: (exit: Exit.Exit<A, E>) => void = ignored): void {
    switch (this.#mode) {
      case "closing":
      case "closed":
        complete(this.#options.closed?.() ?? Exit.interrupt())
        break
      case "running":
        this.#waiting.push({ item, complete })
        break
      case "idle":
        this.#waiting.push({ item, complete })
        this.#mode = "running"
        this.#options.run(this.#performAll)
    }
  }

  /** Refuses new items. Ends when all items that were added are completed. */
  readonly close: Effect.Effect<void> = Effect.callback((resume) => {
    if (this.#mode === "idle") this.#mode = "closed"
    if (this.#mode === "closed") return resume(Effect.void)
    this.#mode = "closing"
    this.#whenClosed.push(() => resume(Effect.void))
  })

  readonly #performAll: Effect.Effect<void> = Effect.onExit(
    Effect.gen({ self: this }, function* () {
      while (this.#waiting.length > 0) {
        yield* Effect.yieldNow
        yield* this.#performNext
      }
    }),
    (exit) => Effect.sync(() => this.#end(exit)),
  )

  get #performNext(): Effect.Effect<void> {
    const { perform } = this.#options
    const entries = this.#take()
    const prepared = this.#prepareAll(entries)
    if (prepared.length === 0) return Effect.void
    return Effect.flatMap(Effect.exit(Effect.suspend(() => perform(prepared))), (exit) => this.#completeAll(exit))
  }

  #take(): ReadonlyArray<Entry<Item, A, E>> {
    const { limit, sizeOf } = this.#options
    if (sizeOf === undefined) return this.#waiting.splice(0, limit)
    let count = 0
    for (let size = 0; count < this.#waiting.length; count++) {
      size += sizeOf((this.#waiting[count] as Entry<Item, A, E>).item)
      if (count > 0 && size > limit) break
    }
    return this.#waiting.splice(0, count)
  }

  /** From here on the entries that could be prepared are in flight. */
  #prepareAll(entries: ReadonlyArray<Entry<Item, A, E>>): ReadonlyArray<Prepared> {
    const ready: Array<Entry<Item, A, E>> = []
    const prepared: Array<Prepared> = []
    for (const entry of entries) {
      try {
        prepared.push(this.#options.prepare(entry.item))
        ready.push(entry)
      } catch (cause) {
        entry.complete(Exit.die(cause))
      }
    }
    this.#inFlight = ready
    return prepared
  }

  #completeAll(exit: Exit.Exit<ReadonlyArray<Exit.Exit<A, E>>, E>): Effect.Effect<void> {
    const entries = this.#inFlight
    this.#inFlight = []
    const thrown: Array<unknown> = []
    for (const [index, { complete }] of entries.entries()) {
      try {
        complete(
          Exit.isFailure(exit) ? Exit.failCause(exit.cause) : (exit.value[index] ?? Exit.die(new Error("its batch has no exit for it"))),
        )
      } catch (cause) {
        // A caller that cannot take its exit must not keep the others from theirs.
        thrown.push(cause)
      }
    }
    return thrown.length === 0 ? Effect.void : Effect.logError(`a caller of a batch failed on its exit: ${faultsOf(thrown)}`)
  }

  /** The fiber ends when nothing is waiting, or because it is interrupted: then the remaining items are interrupted with it. */
  #end(exit: Exit.Exit<void>) {
    if (Exit.isFailure(exit)) {
      const rest = [...this.#inFlight, ...this.#waiting]
      this.#inFlight = []
      this.#waiting = []
      for (const { complete } of rest) complete(Exit.failCause(exit.cause))
    }
    this.#mode = this.#mode === "closing" ? "closed" : "idle"
    for (const resume of this.#whenClosed.splice(0)) resume()
  }
}

/** A batcher that is closed with the scope: it takes no more items then, and the scope waits until all are completed. */
export const makeBatcher = <Item, A = void, E = never>(
  options: Omit<BatcherOptions<Item, A, E>, "run" | "prepare">,
): Effect.Effect<Batcher<Item, A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const batcher = new Batcher<Item, A, E>({ ...options, prepare: (item) => item, run })
    yield* Effect.addFinalizer(() => batcher.close)
    return batcher
  })
