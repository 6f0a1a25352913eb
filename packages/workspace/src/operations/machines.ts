/** Operations on machines: list, show, draw. */

import { Phase } from "@detent/api/Phase"
import { Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import { type MachineEntry, Machines } from "../Machines.ts"
import { BulkSend } from "./bulk.ts"
import { jsonSchemaOf } from "./executions.ts"
import { findEntry, findMachine, workflowPrefix } from "./find.ts"
import { indexProgress } from "./instanceSearch.ts"

/** A listed workflow needs only its name: this process may not have its definition. */
type Listed =
  | Exclude<MachineEntry, { readonly _tag: "EffectWorkflow" }>
  | Pick<Extract<MachineEntry, { readonly _tag: "EffectWorkflow" }>, "_tag" | "name" | "events">

const listing = Effect.fnUntraced(function* (entry: Listed) {
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
  const { indexes } = entry.machine.blueprint
  const filled = yield* indexProgress(entry.machine)
  const all = [...json.stateTags.map((tag) => [tag, 0] as const), ...counts]
  return {
    name: entry.name,
    kind: "machine" as const,
    version: entry.machine.version,
    states: json.stateTags,
    events: json.eventTags,
    counts: Object.fromEntries(all),
    held,
    ...(indexes === undefined ? noIndexes : { indexes: indexes.map(({ name, kind }) => ({ name, kind })) }),
    ...(filled?.isComplete === false ? { indexing: filled } : noIndexes),
  }
})

const noIndexes = {}

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
export const get = Effect.fn("machines.get")(function* (name: string) {
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
export const layout = Effect.fn("machines.layout")(function* (name: string, direction: "down" | "right" = "down") {
  const { machine } = yield* findMachine(name)
  const { drawings } = yield* Machines
  const places = yield* drawings.layout(machine, direction)
  return { fingerprint: drawings.fingerprint(machine), ...places }
})

const countWith = Effect.fnUntraced(function* (machine: string, status: "running" | "held", most = Number.POSITIVE_INFINITY) {
  const journal = yield* Journal
  for (let count = 0, after: string | undefined; ; ) {
    const page = yield* journal.page({ machine, status }, countPage, after)
    count += page.length
    if (page.length < countPage || count >= most) return count
    after = page.at(-1)?.id
  }
})

const countPage = 1000
