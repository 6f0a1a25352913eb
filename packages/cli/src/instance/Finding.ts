/** From what people write to the instance they mean: `order/order-7`, or `order-7` where no other machine has one of that id. */
import { Engine, type InstanceKey, Journal, type KnownMachine } from "@detent/durable"
import { type MachineEntry, Machines } from "@detent/workspace/Machines"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NothingFound, WrongUsage } from "../Failure.ts"

export const findEntry = (name: string): Effect.Effect<MachineEntry, NothingFound, Machines> =>
  Effect.flatMap(Machines, (machines) =>
    Effect.flatMap(
      machines.find(name),
      Option.match({
        onNone: () => Effect.fail(new NothingFound({ what: `machine ${name}`, nextStep: "see `detent machine list`" })),
        onSome: Effect.succeed,
      }),
    ),
  )

/** A machine with states and events of its own. */
export const findMachine = (name: string): Effect.Effect<KnownMachine, NothingFound | WrongUsage, Machines> =>
  Effect.flatMap(
    findEntry(name),
    (entry): Effect.Effect<KnownMachine, WrongUsage> =>
      entry._tag === "Machine"
        ? Effect.succeed(entry.machine)
        : Effect.fail(
            new WrongUsage({
              problem: `${name} is an Effect workflow`,
              nextStep: "it has no states to draw and no events to send; list its executions with `detent instance list --machine`",
            }),
          ),
  )

export const findKey = (text: string) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const names = (yield* (yield* Machines).list).map(({ name }) => name)
    const named = names.filter((name) => text.startsWith(`${name}/`)).map((machine) => ({ machine, id: text.slice(machine.length + 1) }))
    const bare = names.map((machine) => ({ machine, id: text }))
    const found = yield* Effect.filter([...named, ...bare], (key) => Effect.map(journal.open(key), Option.isSome), { concurrency: 4 })
    const [first, ...others] = found
    if (first === undefined) return yield* new NothingFound({ what: `instance ${text}`, nextStep: "see `detent instance list`" })
    if (others.length > 0)
      return yield* new WrongUsage({
        problem: `${text} is an id of several machines`,
        nextStep: `name one of ${found.map(({ machine, id }) => `${machine}/${id}`).join(", ")}`,
      })
    return first satisfies InstanceKey
  })

/** The instance with the machine it is of. */
export const findInstance = (text: string) =>
  Effect.gen(function* () {
    const key = yield* findKey(text)
    const machine = yield* findMachine(key.machine)
    // A machine that is listed is known to the engine.
    const instance = Option.getOrThrow((yield* Engine).find(key))
    return { key, machine, instance }
  })
