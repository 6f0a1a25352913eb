/**
 * Limits the procedures in flight. One WebSocket or one request can call any number of procedures, so they are counted separately,
 * with the same limits as requests and live streams.
 */

import { kind, TimedOut, Unavailable } from "@detent/api/Problem"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ProblemResponse } from "./ProblemResponse.ts"
import { busy, tooSlow } from "./RequestLimits.ts"
import type { Limits } from "./ServeOptions.ts"

class Slots {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Fails immediately if no slot is free. */
  readonly acquire: Effect.Effect<void, Unavailable> = Effect.suspend(() => {
    if (this.#taken >= this.#most) return Effect.fail(new Unavailable(problemOf(busy)))
    this.#taken++
    return Effect.void
  })

  readonly release: Effect.Effect<void> = Effect.sync(() => {
    this.#taken--
  })
}

/**
 * Lets procedures begin one after the other, each in a turn of the event loop of its own: one message can call many, and together they
 * would keep all other clients waiting.
 */
class EventLoopTurns {
  readonly #waiting = new Set<() => void>()

  readonly next: Effect.Effect<void> = Effect.callback((resume) => {
    const begin = () => resume(Effect.void)
    this.#waiting.add(begin)
    if (this.#waiting.size === 1) setImmediate(this.#beginFirst)
    return Effect.sync(() => this.#waiting.delete(begin))
  })

  readonly #beginFirst = () => {
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first)
    if (this.#waiting.size > 0) setImmediate(this.#beginFirst)
    first()
  }
}

const within = <A, E, R>(slots: Slots, procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
  Effect.acquireUseRelease(
    slots.acquire,
    () => procedure,
    () => slots.release,
  )

const problemOf = ({ name, title, status, detail }: ProblemResponse) => ({ type: kind(name), title, status, detail })

class RunningProcedures {
  readonly #turns = new EventLoopTurns()
  readonly #requests: Slots
  readonly #streams: Slots
  readonly #answerTimeout: Duration.Input

  constructor({ requests, streams, answerTimeout }: Limits) {
    this.#requests = new Slots(requests)
    this.#streams = new Slots(streams)
    this.#answerTimeout = answerTimeout
  }

  /** Runs a procedure with one answer, within the time limit. */
  answered<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable | TimedOut, R> {
    const orElse = () => Effect.fail(new TimedOut(problemOf(tooSlow)))
    return within(
      this.#requests,
      Effect.timeoutOrElse(Effect.andThen(this.#turns.next, procedure), { duration: this.#answerTimeout, orElse }),
    )
  }

  /** Runs a streaming procedure, until it ends or its client disconnects. */
  streamed<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> {
    return within(this.#streams, Effect.andThen(this.#turns.next, procedure))
  }
}

export class RpcLimits extends Context.Service<RpcLimits, RunningProcedures>()("@detent/server/RpcLimits") {
  static readonly layer = (limits: Limits) => Layer.sync(RpcLimits, () => new RunningProcedures(limits))
}
