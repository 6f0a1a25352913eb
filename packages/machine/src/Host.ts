/** What all actors of one system share: the ids in use, those who watch, and commands under way. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { ActorCell } from "./ActorCell.ts"
import type { Inspection } from "./Inspection.ts"
import { ActorExists } from "./MachineError.ts"

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

export class Host {
  readonly actors = new Map<string, ActorCell>()
  readonly inspectors = new Set<(inspection: Inspection) => void>()
  readonly #commands = new Set<Fiber.Fiber<unknown, unknown>>()
  #environment: Environment | undefined
  #closed = false

  environment(context: Context.Context<unknown>): Environment {
    if (this.#environment?.context !== context) this.#environment = new Environment(context)
    return this.#environment
  }

  add(actor: ActorCell): ActorExists | undefined {
    if (this.#closed || this.actors.has(actor.id)) return new ActorExists({ id: actor.id })
    this.actors.set(actor.id, actor)
    return undefined
  }

  remove(actor: ActorCell) {
    if (this.actors.get(actor.id) === actor) this.actors.delete(actor.id)
  }

  track(command: Fiber.Fiber<unknown, unknown>) {
    this.#commands.add(command)
    command.addObserver(() => this.#commands.delete(command))
  }

  /** Stops every actor and interrupts every command. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#closed = true
    return Effect.andThen(
      Effect.forEach([...this.actors.values()], (actor) => actor.stop("the system was closed"), {
        discard: true,
        concurrency: "unbounded",
      }),
      Effect.suspend(() => Fiber.interruptAll(this.#commands)),
    )
  })
}
