/** Finds instances of any machine by name and reads their state from the store. */
import { Engine, type Instance, type KnownMachine } from "@detent/durable"
import type { Tagged } from "@detent/machine/internal"
import { Machines } from "@detent/workspace/Machines"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type MachineJson, makeMachineJsons } from "./MachineJson.ts"
import { MachineNotFound, NotAMachine } from "./NotThere.ts"
import { optional } from "./optional.ts"

interface Key {
  readonly machine: string
  readonly id: string
}

export interface FoundInstance {
  readonly instance: Instance<Tagged, Tagged>
  readonly json: MachineJson
}

type Unknown = MachineNotFound | NotAMachine

const make = Effect.gen(function* () {
  const engine = yield* Engine
  const machines = yield* Machines
  const jsonOf = makeMachineJsons()

  const machine = (name: string): Effect.Effect<KnownMachine, Unknown> =>
    Effect.flatMap(machines.find(name), (entry): Effect.Effect<KnownMachine, Unknown> => {
      if (Option.isNone(entry)) return Effect.fail(new MachineNotFound({ machine: name }))
      return entry.value._tag === "EffectWorkflow" ? Effect.fail(new NotAMachine({ machine: name })) : Effect.succeed(entry.value.machine)
    })

  const find = (key: Key): Effect.Effect<FoundInstance, Unknown> =>
    Effect.flatMap(machine(key.machine), (known) =>
      // A machine that is listed is known to the engine.
      Effect.map(Effect.orDie(Effect.fromOption(engine.find(key))), (instance) => ({ instance, json: jsonOf(known) })),
    )

  /** Reads the store, so that commits of other processes show. */
  const view = ({ instance, json }: FoundInstance) =>
    Effect.map(instance.stored, ({ state, status, reason, sequence, startedAt, lastTransitionAt }) => ({
      machine: instance.machine,
      id: instance.id,
      state: json.state(state),
      status,
      ...optional({ outcome: json.outcome(state._tag) }),
      ...(reason === undefined ? {} : { reason }),
      sequence,
      startedAt,
      updatedAt: lastTransitionAt,
    }))

  return { machine, jsonOf, find, view, read: (key: Key) => Effect.flatMap(find(key), view) }
})

export class InstanceReading extends Context.Service<InstanceReading, Effect.Success<typeof make>>()("@detent/server/InstanceReading") {
  static readonly layer = Layer.effect(InstanceReading, make)
}
