/**
 * An actor system holds actors by id. It is a service: closing its scope stops them all.
 *
 * ```ts
 * const system = yield* ActorSystem
 * const order = yield* system.spawn("order-7", Order, { orderId: "7" })
 * yield* order.send(E.Pay({ transactionId: "t-1" }))
 * ```
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Actor } from "../contract/Actor.ts"
import type { InputArguments, SpawnError } from "../contract/Self.ts"
import type { Definition } from "../define/Definition.ts"
import { Host } from "./Host.ts"
import type { Inspection } from "./Inspection.ts"
import { listening } from "./Listening.ts"
import { startActor } from "./StartActor.ts"

export interface ActorSystemService {
  /** Starts an actor. An id can be used again once its actor has ended. */
  spawn<S, E, I, R>(id: string, machine: Definition<S, E, I, R>, ...input: InputArguments<S, I>): Effect.Effect<Actor<S, E>, SpawnError, R>
  /** The running actor of an id, if it is one of this machine. */
  get<S, E, I, R>(id: string, machine: Definition<S, E, I, R>): Effect.Effect<Option.Option<Actor<S, E>>>
  /** Stops the actor of an id. Returns whether there was one. */
  stop(id: string, reason?: string): Effect.Effect<boolean>
  /** The ids in use. */
  readonly ids: Effect.Effect<ReadonlyArray<string>>
  /** All inspections from now on, buffered for a slow reader. */
  readonly inspect: Stream.Stream<Inspection>
  /** Calls back synchronously with every inspection. Returns the function that unsubscribes. */
  inspectUnsafe(inspector: (inspection: Inspection) => void): () => void
}

const makeService = (host: Host): ActorSystemService => {
  const inspectUnsafe = (inspector: (inspection: Inspection) => void) => {
    host.inspectors.add(inspector)
    return () => {
      host.inspectors.delete(inspector)
    }
  }
  return {
    spawn: (id, machine, ...input) => startActor(host, id, machine, input[0]) as never,
    get: (id, machine) =>
      Effect.sync(() => {
        const actor = host.get(id)
        return actor?.machine === machine.name ? Option.some(actor as never) : Option.none()
      }),
    stop: (id, reason) =>
      Effect.suspend(() => {
        const actor = host.get(id)
        return actor === undefined ? Effect.succeed(false) : Effect.as(actor.stop(reason), true)
      }),
    ids: Effect.sync(() => host.ids),
    inspect: listening((queue) => inspectUnsafe((inspection) => Queue.offerUnsafe(queue, inspection))),
    inspectUnsafe,
  }
}

export class ActorSystem extends Context.Service<ActorSystem, ActorSystemService>()("@detent/machine/ActorSystem") {
  static readonly make: Effect.Effect<ActorSystemService, never, Scope.Scope> = Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Host(startActor)),
      (host) => host.close,
    ),
    makeService,
  )
  static readonly layer: Layer.Layer<ActorSystem> = Layer.effect(ActorSystem, ActorSystem.make)
}

/** Starts a single actor that ends with the scope. */
export const spawn = <S, E, I, R>(
  machine: Definition<S, E, I, R>,
  ...input: InputArguments<S, I>
): Effect.Effect<Actor<S, E>, SpawnError, R | Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => new Host(startActor)),
      (host) => host.close,
    ),
    (host) => startActor(host, machine.name, machine, input[0]) as unknown as Effect.Effect<Actor<S, E>, SpawnError, R>,
  )
