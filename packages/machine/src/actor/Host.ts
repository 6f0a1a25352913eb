/** What all actors of one system share: the ids in use, those who watch, and commands under way. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ActorExists, MachineStopped } from "../MachineError.ts"
import type { Inspection } from "./Inspection.ts"
import type { LocalActor } from "./LocalActor.ts"

/** The services an actor's work runs with. Actors started with the same services share one. */
export class Environment {
  readonly context: Context.Context<unknown>
  readonly clock: Clock.Clock
  readonly run: <A, E>(effect: Effect.Effect<A, E, unknown>) => Fiber.Fiber<A, E>

  constructor(context: Context.Context<unknown>) {
    this.context = context
    this.clock = Context.get(context as Context.Context<never>, Clock.Clock)
    this.run = Effect.runForkWith(context)
  }
}

/** A place in the table of actors. Emptied when its actor ends: the table may keep the place, but not the actor. */
interface Seat {
  actor: LocalActor | undefined
}

export class Host {
  readonly inspectors = new Set<(inspection: Inspection) => void>()
  readonly #seats = new Map<string, Seat>()
  readonly #commands = new Set<Fiber.Fiber<unknown, unknown>>()
  readonly #closing = new Set<Fiber.Fiber<void>>()
  #environment: Environment | undefined
  #closed = false

  environment(context: Context.Context<unknown>): Environment {
    if (this.#environment?.context !== context) this.#environment = new Environment(context)
    return this.#environment
  }

  get ids(): ReadonlyArray<string> {
    return [...this.#seats.keys()]
  }

  get(id: string): LocalActor | undefined {
    return this.#seats.get(id)?.actor
  }

  add(actor: LocalActor): ActorExists | MachineStopped | undefined {
    if (this.#closed) return new MachineStopped({ machine: actor.machine, id: actor.id, state: "(start)", reason: "the system was closed" })
    if (this.#seats.has(actor.id)) return new ActorExists({ id: actor.id })
    this.#seats.set(actor.id, { actor })
    return undefined
  }

  remove(actor: LocalActor) {
    const seat = this.#seats.get(actor.id)
    if (seat?.actor !== actor) return
    // The engine's tables outlive their entries for a while; what they point to must not.
    seat.actor = undefined
    this.#seats.delete(actor.id)
  }

  /** Something on its way to its end that closing the system waits for. */
  awaits(closing: Fiber.Fiber<void>) {
    this.#closing.add(closing)
    closing.addObserver(() => this.#closing.delete(closing))
  }

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
