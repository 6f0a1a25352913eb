/**
 * Writes what many fibers bring at the same time in one go: while one write is on its way, everybody else gathers for the
 * next. There is no artificial delay, so one alone waits for nobody.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

interface Waiting<Item, A, E> {
  readonly item: Item
  readonly done: Deferred.Deferred<A, E>
}

/** `write` answers each item in order. Where it fails with several, they are written one by one, so that one cannot fail the others. */
export const gathered = <Item, A, E>(
  limit: number,
  write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, E>,
): Effect.Effect<(item: Item) => Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Waiting<Item, A, E>>()

    const flush = (waiting: ReadonlyArray<Waiting<Item, A, E>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(write(waiting.map(({ item }) => item))), (exit) => {
        if (Exit.isFailure(exit) && waiting.length > 1) return Effect.forEach(waiting, (one) => flush([one]), { discard: true })
        return Effect.sync(() => {
          for (const [index, { done }] of waiting.entries()) {
            const own: Exit.Exit<A, E> | undefined = Exit.isSuccess(exit) ? exit.value[index] : Exit.failCause(exit.cause)
            Deferred.doneUnsafe(done, own ?? Exit.die(new Error("a write gave no answer")))
          }
        })
      })

    const next = Effect.gen(function* () {
      const first = yield* Queue.take(queue)
      // A turn for the others, so that all who are ready in it come along.
      yield* Effect.yieldNow
      const others = yield* Queue.takeBetween(queue, 0, limit - 1)
      yield* Effect.uninterruptible(flush([first, ...others]))
    })
    yield* Effect.forkScoped(Effect.forever(next))

    return (item) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<A, E>()
        Queue.offerUnsafe(queue, { item, done })
        return Deferred.await(done)
      })
  })
