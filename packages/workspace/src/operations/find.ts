/** Finds machines by name and instances by key. */
import { DurableWorkflow, Engine, type Instance, type InstanceKey, Journal, type KnownMachine } from "@detent/durable"
import type { Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { MachineNotFound, MachineUnregistered, NotAMachine } from "../errors.ts"
import { Machines } from "../Machines.ts"
import type { MachineJson } from "../machine/MachineJson.ts"

/** The machine names of Effect workflows begin with this prefix. */
export const workflowPrefix = DurableWorkflow.machineOf("")

export const findEntry = (name: string) =>
  Effect.flatMap(
    Effect.flatMap(Machines, (machines) => machines.find(name)),
    Option.match({ onNone: () => notRegistered(name), onSome: Effect.succeed }),
  )

const notRegistered = (machine: string) =>
  Effect.flatMap(
    Effect.flatMap(Journal, (journal) => journal.count(machine)),
    (counts) => Effect.fail(counts.size > 0 ? new MachineUnregistered({ machine }) : new MachineNotFound({ machine })),
  )

export interface FoundInstance {
  readonly instance: Instance<Tagged, Tagged>
  readonly machine: KnownMachine
  readonly json: MachineJson
}

/** Finds a machine. Refuses an Effect workflow, which has no states and events of a machine. */
export const findMachine = Effect.fn("find.findMachine")(function* (name: string) {
  const entry = yield* findEntry(name)
  if (entry._tag === "EffectWorkflow") return yield* new NotAMachine({ machine: name })
  return { machine: entry.machine, json: (yield* Machines).json(entry.machine) }
})

export const find = Effect.fn("find.find")(function* (key: InstanceKey) {
  const { machine, json } = yield* findMachine(key.machine)
  // The engine knows every listed machine.
  const instance = Option.getOrThrow((yield* Engine).find(key))
  return { instance, machine, json } satisfies FoundInstance
})
