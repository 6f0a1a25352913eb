/**
 * Does together what many fibers want done at the same time: while one batch is on its way, everybody else gathers for the
 * next. There is no artificial delay. When its scope closes, what was taken on is done first.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

export interface Gathering<Item> {
  /** False when it has been closed: then nobody will do it. */
  readonly add: (item: Item) => boolean
}

export const makeGathering = <Item>(
  limit: number,
  /** Answers each item itself, whatever happens. */
  flush: (items: ReadonlyArray<Item>) => Effect.Effect<void>,
): Effect.Effect<Gathering<Item>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Item, Cause.Done>()
    const next = Effect.gen(function* () {
      yield* Queue.peek(queue)
      // A turn for the others, so that all who are ready in it come along.
      yield* Effect.yieldNow
      const items = yield* Queue.takeBetween(queue, 1, limit)
      // Whatever goes wrong with these must not keep the next from being done.
      yield* Effect.catchCause(flush(items), (cause) => Effect.logError("what was gathered was not answered", cause))
    })
    // It fails when the queue is at its end: then everything is done.
    const fiber = yield* Effect.forkScoped(Effect.ignore(Effect.forever(next)))
    yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(queue), Fiber.await(fiber)))
    return { add: (item) => Queue.offerUnsafe(queue, item) }
  })
