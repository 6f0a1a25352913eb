/** Shared by the actors of one system: the ids in use, the inspectors, and the work that closing the system waits for. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ActorExists, type InvalidState, MachineStopped, type SendError } from "../error/MachineError.ts"
import type { Inspection } from "./Inspection.ts"
import type { StateScope } from "./StateScope.ts"

/** The services an actor's work runs with. Actors started with the same services share one. */
export class Environment {
  readonly context: Context.Context<unknown>
  readonly clock: Clock.Clock
  readonly run: <A, E>(effect: Effect.Effect<A, E, unknown>) => Fiber.Fiber<A, E>

  /** `clock`: tells the time of events and deadlines. Default: the clock of the services. */
  constructor(context: Context.Context<unknown>, clock = Context.get(context as Context.Context<never>, Clock.Clock)) {
    this.context = context
    this.clock = clock
    this.run = Effect.runForkWith(context)
  }
}

/** An actor as its system holds it. */
export interface HostedActor {
  readonly id: string
  readonly machine: string
  stop(reason?: string): Effect.Effect<void>
}

/** An entry of the table of actors. Emptied when its actor ends: the table may keep the entry, but not the actor. */
interface Seat {
  actor: HostedActor | undefined
}

/** Starts an actor. A child does not outlive the scope of the state it belongs to. */
export type StartActor = (
  host: Host,
  id: string,
  machine: unknown,
  input: unknown,
  scope?: StateScope,
) => Effect.Effect<HostedActor, SendError | InvalidState | ActorExists>

export class Host {
  readonly inspectors = new Set<(inspection: Inspection) => void>()
  readonly #start: StartActor
  readonly #seats = new Map<string, Seat>()
  readonly #commands = new Set<Fiber.Fiber<unknown, unknown>>()
  readonly #closing = new Set<Fiber.Fiber<void>>()
  #environment: Environment | undefined
  #closed = false

  constructor(start: StartActor) {
    this.#start = start
  }

  start(id: string, machine: unknown, input: unknown, scope?: StateScope) {
    return this.#start(this, id, machine, input, scope)
  }

  environment(context: Context.Context<unknown>): Environment {
    if (this.#environment?.context !== context) this.#environment = new Environment(context)
    return this.#environment
  }

  get ids(): ReadonlyArray<string> {
    return [...this.#seats.keys()]
  }

  get(id: string): HostedActor | undefined {
    return this.#seats.get(id)?.actor
  }

  add(actor: HostedActor): ActorExists | MachineStopped | undefined {
    if (this.#closed) return new MachineStopped({ machine: actor.machine, id: actor.id, state: "(start)", reason: "the system was closed" })
    if (this.#seats.has(actor.id)) return new ActorExists({ id: actor.id })
    this.#seats.set(actor.id, { actor })
    return undefined
  }

  remove(actor: HostedActor) {
    const seat = this.#seats.get(actor.id)
    if (seat?.actor !== actor) return
    // The tables of the JavaScript engine keep deleted entries for a while; they must not keep the actor.
    seat.actor = undefined
    this.#seats.delete(actor.id)
  }

  /** Closing the system waits for this fiber, which ends the work of an actor. */
  awaits(closing: Fiber.Fiber<void>) {
    this.#closing.add(closing)
    closing.addObserver(() => this.#closing.delete(closing))
  }

  /** Closing the system interrupts this command. */
  track(command: Fiber.Fiber<unknown, unknown>) {
    this.#commands.add(command)
    command.addObserver(() => this.#commands.delete(command))
  }

  /** Stops every actor and interrupts every command. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#closed = true
    return Effect.andThen(
      Effect.forEach([...this.#seats.values()], ({ actor }) => actor?.stop("the system was closed") ?? Effect.void, {
        discard: true,
        concurrency: "unbounded",
      }),
      Effect.suspend(() => Effect.andThen(Fiber.awaitAll(this.#closing), Fiber.interruptAll(this.#commands))),
    )
  })
}
