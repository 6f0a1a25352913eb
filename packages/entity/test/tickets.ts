/** A kind of entity that remembers what was done to it, and workflows over it. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type EntityState, Processor, Registry } from "../src/index.ts"

export const Ticket = Schema.Struct({
  amount: Schema.Finite,
  log: Schema.Array(Schema.String),
  reason: Schema.optionalKey(Schema.String),
})
export type Ticket = typeof Ticket.Type

export const ticket = (amount = 0): Ticket => ({ amount, log: [] })

export const logged = (entity: Ticket, line: string): Ticket => ({ ...entity, log: [...entity.log, line] })

/** What the outside world saw, and how it answers. */
export class World {
  readonly calls: Array<string> = []
  /** How often each processor fails before it succeeds. */
  readonly failures = new Map<string, number>()
  /** Processors that wait until they are let go. */
  readonly gates = new Map<string, Deferred.Deferred<void>>()

  gate(name: string) {
    const gate = Deferred.makeUnsafe<void>()
    this.gates.set(name, gate)
    return Deferred.succeed(gate, undefined)
  }

  effect(name: string, retry?: Parameters<typeof Processor.effect>[1]) {
    return Processor.effect(
      (entity: Ticket, { key, attempt }) =>
        Effect.gen({ self: this }, function* () {
          this.calls.push(`${name} ${key} ${attempt}`)
          const gate = this.gates.get(name)
          if (gate !== undefined) yield* Deferred.await(gate)
          const left = this.failures.get(name) ?? 0
          this.failures.set(name, left - 1)
          if (left > 0) return yield* Effect.fail(`${name} is down`)
          return logged(entity, name)
        }),
      retry,
    )
  }
}

/** Something that throws when it is looked at. */
export const trap = (): Ticket => ({
  get amount(): number {
    throw new Error("hands off")
  },
  log: [],
})

export const makeRegistry = (world: World) =>
  Registry.make(Ticket, {
    processors: {
      a: Processor.pure((entity) => logged(entity, "a")),
      b: Processor.pure((entity) => logged(entity, "b")),
      double: Processor.pure((entity) => ({ ...entity, amount: entity.amount * 2 })),
      stamp: Processor.pure((entity, { at }) => logged(entity, `at ${at}`)),
      argue: Processor.pure((entity, { argument }) => logged(entity, JSON.stringify(argument))),
      explain: Processor.pure((entity, { error }) => ({ ...entity, reason: `${error?.processor}: ${error?.message}` })),
      throwing: Processor.pure((): Ticket => {
        throw new Error("cannot")
      }),
      garbage: Processor.pure((): Ticket => ({ amount: "many" }) as never),
      trap: Processor.pure(trap),
      call: world.effect("call"),
      book: world.effect("book", { retry: { attempts: 3, delay: "10 seconds" } }),
      mail: world.effect("mail", { retry: { attempts: 4, delay: "1 second", backoff: "exponential", longest: "3 seconds" } }),
    },
    criteria: {
      small: (entity) => entity.amount < 10,
      big: (entity) => entity.amount >= 100,
      booked: (entity) => entity.log.includes("book"),
      never: () => false,
      late: (_, { at }) => at >= 1000,
    },
  })

export type State = EntityState<string, Ticket>
