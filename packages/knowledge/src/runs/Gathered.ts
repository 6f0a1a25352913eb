/**
 * Writes what many fibers submit at the same time in one transaction: while one write is under way, the others collect for the
 * next. A fiber that is alone does not wait.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** In milliseconds. A fiber that arrives within a pause extends it by another: 0.3 commits a document instead of 6.4. */
const longest = 500
const pause = 20

/** A quarter continues working meanwhile. Of 2000 documents, 64 at once: 77 to 81 commits, and 108 to 113 with half of them. */
const enough = 0.75

interface Waiting<Item, A, E> {
  readonly item: Item
  readonly done: Deferred.Deferred<A, E>
}

/** `write` answers each item in order. Where it fails with several, they are written one by one, so that one cannot fail the others. */
export const gathered = <Item, A, E>(
  limit: number,
  /** How many fibers are at work and may submit soon: the first waits until most of them have, or none arrives in time. */
  expected: () => number,
  write: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, E>,
  /** Whether none of them is to blame, so that each alone would fail the same way. */
  isOfAll: (error: E) => boolean,
): Effect.Effect<(item: Item) => Effect.Effect<A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<Waiting<Item, A, E>>()

    const flush = (waiting: ReadonlyArray<Waiting<Item, A, E>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(write(waiting.map(({ item }) => item))), (exit) => {
        if (Exit.isFailure(exit) && waiting.length > 1 && !exit.cause.reasons.some((one) => Cause.isFailReason(one) && isOfAll(one.error)))
          return Effect.forEach(waiting, (one) => flush([one]), { discard: true })
        return Effect.sync(() => {
          for (const [index, { done }] of waiting.entries()) {
            const own: Exit.Exit<A, E> | undefined = Exit.isSuccess(exit) ? exit.value[index] : Exit.failCause(exit.cause)
            Deferred.doneUnsafe(done, own ?? Exit.die(new Error("a write gave no answer")))
          }
        })
      })

    const writeWith = (first: Waiting<Item, A, E>) =>
      Effect.gen(function* () {
        // A turn for the others, so that all who are ready in it come along.
        yield* Effect.yieldNow
        for (let waited = 0; waited < longest && 1 + Queue.sizeUnsafe(queue) < Math.min(limit, expected() * enough); waited += pause) {
          const before = Queue.sizeUnsafe(queue)
          yield* Effect.sleep(pause)
          if (Queue.sizeUnsafe(queue) === before) break
        }
        const others = Queue.sizeUnsafe(queue) === 0 ? [] : yield* Queue.takeBetween(queue, 1, limit - 1)
        yield* Effect.uninterruptible(flush([first, ...others]))
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => Deferred.doneUnsafe(first.done, Exit.interrupt()))))

    const next = Effect.flatMap(Queue.take(queue), writeWith)
    // A fiber that arrives after the end must not wait for ever.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        for (const { done } of yield* Queue.clear(queue)) Deferred.doneUnsafe(done, Exit.interrupt())
        yield* Queue.shutdown(queue)
      }),
    )
    yield* Effect.forkScoped(Effect.forever(next))

    return (item) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<A, E>()
        return Queue.offerUnsafe(queue, { item, done }) ? Deferred.await(done) : Effect.interrupt
      })
  })
