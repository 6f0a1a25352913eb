/**
 * The procedures that are under way. Over one WebSocket, and in one request, any number of them can be asked for: so they are
 * counted by themselves, and held to the limits that requests and live streams are held to.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { kind, TimedOut, Unavailable } from "../api/Problem.ts"
import type { Refusal } from "./Refusal.ts"
import type { Limits } from "./ServeOptions.ts"
import { busy, tooSlow } from "./Traffic.ts"

class Room {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Fails at once where there is none left. */
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

const problemOf = ({ name, title, status, detail }: Refusal) => ({ type: kind(name), title, status, detail })

class ProceduresUnderWay {
  readonly #requests: Room
  readonly #streams: Room
  readonly #answerTimeout: Duration.Input

  constructor({ requests, streams, answerTimeout }: Limits) {
    this.#requests = new Room(requests)
    this.#streams = new Room(streams)
    this.#answerTimeout = answerTimeout
  }

  /** One that has an answer. */
  answered<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable | TimedOut, R> {
    const orElse = () => Effect.fail(new TimedOut(problemOf(tooSlow)))
    return within(this.#requests, Effect.timeoutOrElse(procedure, { duration: this.#answerTimeout, orElse }))
  }

  /** A streaming procedure, until it ends or its client disconnects. */
  streamed<A, E, R>(procedure: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> {
    return within(this.#streams, procedure)
  }
}

export class RpcTraffic extends Context.Service<RpcTraffic, ProceduresUnderWay>()("@detent/server/RpcTraffic") {
  static readonly layer = (limits: Limits) => Layer.sync(RpcTraffic, () => new ProceduresUnderWay(limits))
}
