/**
 * Limits the procedures in flight. One WebSocket or one request can call any number of them, so they are counted separately,
 * under the same limits as requests and live streams.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { kind, TimedOut, Unavailable } from "../api/Problem.ts"
import type { ProblemResponse } from "./ProblemResponse.ts"
import { busy, tooSlow } from "./RequestLimits.ts"
import type { Limits } from "./ServeOptions.ts"

class Room {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Fails immediately if no place is free. */
  readonly take: Effect.Effect<void, Unavailable> = Effect.suspend(() => {
    if (this.#taken >= this.#most) return Effect.fail(new Unavailable(problemOf(busy)))
    this.#taken++
    return Effect.void
  })

  readonly giveBack: Effect.Effect<void> = Effect.sync(() => {
    this.#taken--
  })
}

const within = <A, E, R>(room: Room, procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
  Effect.acquireUseRelease(
    room.take,
    () => procedure,
    () => room.giveBack,
  )

const problemOf = ({ name, title, status, detail }: ProblemResponse) => ({ type: kind(name), title, status, detail })

class RunningProcedures {
  readonly #requests: Room
  readonly #streams: Room
  readonly #answerTimeout: Duration.Input

  constructor({ requests, streams, answerTimeout }: Limits) {
    this.#requests = new Room(requests)
    this.#streams = new Room(streams)
    this.#answerTimeout = answerTimeout
  }

  /** A procedure with one answer. */
  answered<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable | TimedOut, R> {
    const orElse = () => Effect.fail(new TimedOut(problemOf(tooSlow)))
    return within(this.#requests, Effect.timeoutOrElse(procedure, { duration: this.#answerTimeout, orElse }))
  }

  /** A streaming procedure, until it ends or its client disconnects. */
  streamed<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> {
    return within(this.#streams, procedure)
  }
}

export class RpcLimits extends Context.Service<RpcLimits, RunningProcedures>()("@detent/server/RpcLimits") {
  static readonly layer = (limits: Limits) => Layer.sync(RpcLimits, () => new RunningProcedures(limits))
}
