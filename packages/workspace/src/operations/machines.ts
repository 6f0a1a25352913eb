/** What a user can do with machines: list, look, draw, check against what is stored. */
import { Engine, Journal, type KnownMachine } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { MachineNotFound } from "../errors.ts"
import { type MachineEntry, Machines } from "../Machines.ts"
import { optional } from "../optional.ts"
import { Workspace } from "../Workspace.ts"

export const findEntry = (name: string) =>
  Effect.flatMap(
    Effect.flatMap(Machines, (machines) => machines.find(name)),
    Option.match({ onNone: () => Effect.fail(new MachineNotFound({ machine: name })), onSome: Effect.succeed }),
  )

/** The states of an execution of an Effect workflow. */
const executionStates = ["running", "suspended", "completed", "failed"]

const listing = (entry: MachineEntry) =>
  Effect.gen(function* () {
    const counts = yield* Effect.flatMap(Journal, (journal) => journal.count(entry.name))
    if (entry._tag === "EffectWorkflow")
      return {
        name: entry.name,
        kind: "effect-workflow" as const,
        states: executionStates,
        events: [],
        counts: Object.fromEntries(counts),
      }
    const json = (yield* Machines).json(entry.machine)
    const all = [...json.stateTags.map((tag) => [tag, 0] as const), ...counts]
    return {
      name: entry.name,
      kind: "machine" as const,
      version: entry.machine.version,
      states: json.stateTags,
      events: json.eventTags,
      counts: Object.fromEntries(all),
    }
  })

/** All machines, by name, with how many instances are in each state. */
export const list = Effect.flatMap(
  Effect.flatMap(Machines, (machines) => machines.list),
  (entries) => Effect.forEach(entries, listing, { concurrency: 4 }),
)

/** One machine. An Effect workflow has no blueprint and no schemas of events. */
export const get = (name: string) =>
  Effect.gen(function* () {
    const entry = yield* findEntry(name)
    const listed = yield* listing(entry)
    if (entry._tag === "EffectWorkflow") return { ...listed, eventSchemas: {} }
    return { ...listed, blueprint: entry.machine.blueprint, eventSchemas: (yield* Machines).json(entry.machine).eventSchemas }
  })

/** Runs stored instances of a machine, or of all, through the definition of now without touching any. */
export const check = (name: string | undefined) =>
  Effect.gen(function* () {
    const entries = name === undefined ? yield* Effect.flatMap(Machines, (machines) => machines.list) : [yield* findEntry(name)]
    const machines = entries.flatMap((entry) => (entry._tag === "Machine" ? [entry.machine] : []))
    return yield* Effect.forEach(machines, checkOne)
  })

const checkOne = (machine: KnownMachine) =>
  Effect.gen(function* () {
    const upcasters = (yield* Workspace).config?.upcasters?.[machine.name]
    const { checked, failing } = yield* Effect.flatMap(Engine, (engine) => engine.check(machine, optional({ upcasters })))
    const counts = yield* Effect.flatMap(Journal, (journal) => journal.count(machine.name))
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
    // An instance may end in between.
    return { machine: machine.name, checked, ended: Math.max(0, all - checked), failing }
  })
