/** Operations on machines: list, show, draw, check against stored instances. */

import { Phase } from "@detent/api/Phase"
import { Engine, Journal, type KnownMachine } from "@detent/durable"
import * as Effect from "effect/Effect"
import { type MachineEntry, Machines } from "../Machines.ts"
import { optional } from "../optional.ts"
import { Workspace } from "../Workspace.ts"
import { BulkSend } from "./bulk.ts"
import { jsonSchemaOf } from "./executions.ts"
import { findEntry, findMachine, workflowPrefix } from "./find.ts"

/** A listed workflow needs only its name: this process may not have its definition. */
type Listed =
  | Exclude<MachineEntry, { readonly _tag: "EffectWorkflow" }>
  | Pick<Extract<MachineEntry, { readonly _tag: "EffectWorkflow" }>, "_tag" | "name" | "events">

const listing = (entry: Listed) =>
  Effect.gen(function* () {
    const counts = yield* Effect.flatMap(Journal, (journal) => journal.count(entry.name))
    if (entry._tag === "EffectWorkflow")
      return {
        name: entry.name,
        kind: "effect-workflow" as const,
        states: Phase.literals,
        events: Object.keys(entry.events),
        counts: Object.fromEntries(counts),
      }
    const json = (yield* Machines).json(entry.machine)
    const held = yield* countWith(entry.name, "held", mostHeld)
    const all = [...json.stateTags.map((tag) => [tag, 0] as const), ...counts]
    return {
      name: entry.name,
      kind: "machine" as const,
      version: entry.machine.version,
      states: json.stateTags,
      events: json.eventTags,
      counts: Object.fromEntries(all),
      held,
    }
  })

/** The most held instances that a list counts. */
const mostHeld = 10_000

/**
 * All machines, by name, with the number of instances in each state. Includes workflows that have executions but no definition here: an
 * observing process does not build the layers of workflows, which may register further workflows.
 */
export const list = Effect.gen(function* () {
  const entries = yield* listedEntries
  const names = new Set(entries.map(({ name }) => name))
  const stored = yield* Effect.flatMap(Journal, (journal) => journal.machines)
  const unknown = stored.filter((name) => name.startsWith(workflowPrefix) && !names.has(name))
  const all: ReadonlyArray<Listed> = [...entries, ...unknown.map((name) => ({ _tag: "EffectWorkflow" as const, name, events: {} }))]
  const listed = yield* Effect.forEach(all, listing, { concurrency: 4 })
  return listed.sort((a, b) => (a.name < b.name ? -1 : 1))
})

/** The machine of bulk jobs is listed only where there are jobs. */
const listedEntries = Effect.gen(function* () {
  const entries = yield* Effect.flatMap(Machines, (machines) => machines.list)
  const jobs = yield* Effect.flatMap(Journal, (journal) => journal.count(BulkSend.name))
  return jobs.size > 0 ? entries : entries.filter(({ name }) => name !== BulkSend.name)
})

/** One machine. A workflow has no blueprint, but the schema of its payload. */
export const get = (name: string) =>
  Effect.gen(function* () {
    const entry = yield* findEntry(name)
    const listed = yield* listing(entry)
    if (entry._tag === "EffectWorkflow") {
      const schemas = Object.entries(entry.events).map(([event, { successSchema }]) => [event, jsonSchemaOf(successSchema)] as const)
      return {
        ...listed,
        stateSchemas: {},
        eventSchemas: Object.fromEntries(schemas),
        payloadSchema: jsonSchemaOf(entry.workflow.payloadSchema),
      }
    }
    const { eventSchemas, stateSchemas } = (yield* Machines).json(entry.machine)
    return { ...listed, blueprint: entry.machine.blueprint, eventSchemas, stateSchemas }
  })

/** The positions in the machine's diagram. The layout is computed once for each structure of a machine. */
export const layout = (name: string, direction: "down" | "right" = "down") =>
  Effect.gen(function* () {
    const { machine } = yield* findMachine(name)
    const { drawings } = yield* Machines
    const places = yield* drawings.layout(machine, direction)
    return { fingerprint: drawings.fingerprint(machine), ...places }
  })

/**
 * Replays stored instances of a machine, or of all machines, with the current definition, without changing any. "All" are the machines
 * of the configuration, built-in machines with instances, and machines with instances but no definition here.
 */
export const check = (name: string | undefined) =>
  Effect.gen(function* () {
    if (name !== undefined) return yield* Effect.forEach(machinesOf([yield* findEntry(name)]), checkOne)
    const stored = yield* Effect.flatMap(Journal, (journal) => journal.machines)
    const configured = (yield* Workspace).config?.machines.map((machine) => machine.name) ?? []
    const known = machinesOf(yield* Effect.flatMap(Machines, (machines) => machines.list))
    const names = known.map((machine) => machine.name)
    const unregistered = stored.filter((machine) => !machine.startsWith(workflowPrefix) && !names.includes(machine))
    const checked = yield* Effect.forEach(
      known.filter((machine) => configured.includes(machine.name) || stored.includes(machine.name)),
      checkOne,
    )
    return [...checked, ...(yield* Effect.forEach(unregistered, countUnchecked))]
  })

const machinesOf = (entries: ReadonlyArray<MachineEntry>): ReadonlyArray<KnownMachine> =>
  entries.flatMap((entry) => (entry._tag === "Machine" ? [entry.machine] : []))

const countAll = (machine: string) =>
  Effect.map(
    Effect.flatMap(Journal, (journal) => journal.count(machine)),
    (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0),
  )

export interface MachineReport {
  readonly machine: string
  /** Whether its definition is registered, so that it can be checked. */
  readonly registered: boolean
  readonly checked: number
  /** Instances that have ended. They are not opened again. */
  readonly ended: number
  /** Instances that have not ended and could not be checked, because there is no definition. */
  readonly unchecked: number
  readonly failing: ReadonlyArray<{ readonly id: string; readonly sequence: number; readonly problem: string }>
}

const countUnchecked = (machine: string) =>
  Effect.gen(function* () {
    const unchecked = (yield* countWith(machine, "running")) + (yield* countWith(machine, "held"))
    const ended = Math.max(0, (yield* countAll(machine)) - unchecked)
    return { machine, registered: false, checked: 0, ended, unchecked, failing: [] } satisfies MachineReport
  })

const countWith = (machine: string, status: "running" | "held", most = Number.POSITIVE_INFINITY) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    for (let count = 0, after: string | undefined; ; ) {
      const page = yield* journal.page({ machine, status }, countPage, after)
      count += page.length
      if (page.length < countPage || count >= most) return count
      after = page.at(-1)?.id
    }
  })

const countPage = 1000

const checkOne = (machine: KnownMachine) =>
  Effect.gen(function* () {
    const upcasters = (yield* Workspace).config?.upcasters?.[machine.name]
    const { checked, failing } = yield* Effect.flatMap(Engine, (engine) => engine.check(machine, optional({ upcasters })))
    // An instance may end between the check and the count.
    const ended = Math.max(0, (yield* countAll(machine.name)) - checked)
    return { machine: machine.name, registered: true, checked, ended, unchecked: 0, failing } satisfies MachineReport
  })
