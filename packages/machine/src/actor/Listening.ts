/** Callbacks as a stream. What a slow reader has not read is kept for it, up to a bound; beyond that the oldest are dropped. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

/** How many values are kept for a reader that does not read. */
const bufferLimit = 16_384

/** A stream of what a callback receives, from the moment the stream is started. `listen` returns how to unsubscribe. */
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
