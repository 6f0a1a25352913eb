/** Following an actor: its states as a stream, waiting for one of them, waiting for its end. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Tagged } from "../define/Declarations.ts"
import type { MachineStopped } from "../MachineError.ts"
import type { ActorEnd } from "./Actor.ts"
import { stopped } from "./ActorReport.ts"
import type { ActorState } from "./ActorState.ts"

export interface Listener {
  readonly next: (state: Tagged) => void
  readonly end: (ending: ActorEnd<Tagged>) => void
}

/** The current state and all that follow. A slow reader misses nothing: what it has not read is kept for it. */
export const changesOf = (actor: ActorState): Stream.Stream<Tagged> =>
  listening((queue) => {
    Queue.offerUnsafe(queue, actor.currentState)
    return actor.listen({ next: (state) => Queue.offerUnsafe(queue, state), end: () => Queue.endUnsafe(queue) })
  })

/** A stream of what a listener is told, from the very turn it is started. */
export const listening = <A>(listen: (queue: Queue.Queue<A, Cause.Done>) => () => void): Stream.Stream<A> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<A, Cause.Done>()
      yield* Effect.acquireRelease(
        Effect.sync(() => listen(queue)),
        (unlisten) => Effect.sync(unlisten),
      )
      return Stream.fromQueue(queue)
    }),
  )

export const waitFor = (actor: ActorState, predicate: (state: Tagged) => boolean): Effect.Effect<Tagged, MachineStopped> =>
  Effect.callback((resume) => {
    if (predicate(actor.currentState)) return resume(Effect.succeed(actor.currentState))
    const unlisten = actor.listen({
      next: (state) => {
        if (!predicate(state)) return
        unlisten()
        resume(Effect.succeed(state))
      },
      end: (ending) => resume(Effect.fail(stopped(actor, ending))),
    })
    return Effect.sync(unlisten)
  })

export const watch = (actor: ActorState): Effect.Effect<ActorEnd<Tagged>> =>
  Effect.callback((resume) => {
    const unlisten = actor.listen({ next: () => undefined, end: (ending) => resume(Effect.succeed(ending)) })
    return Effect.sync(unlisten)
  })
