/** Callbacks as a stream, with a bounded buffer for a slow reader: beyond the bound the oldest values are dropped. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** How many values are kept for a reader that does not read. */
const bufferLimit = 16_384

/** A stream of the values of a callback, from the start of the stream. `listen` returns the function that unsubscribes. */
export const listening = <A>(listen: (queue: Queue.Queue<A, Cause.Done>) => () => void): Stream.Stream<A> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const queue = yield* Queue.sliding<A, Cause.Done>(bufferLimit)
      yield* Effect.acquireRelease(
        Effect.sync(() => listen(queue)),
        (unlisten) => Effect.sync(unlisten),
      )
      return Stream.fromQueue(queue)
    }),
  )
