/** What a user can do with executions of Effect workflows: list, look, resume, interrupt. */
import { DurableWorkflow, type InstanceCursor, type InstanceKey, type InstanceRecord, Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { WorkflowEngine } from "effect/unstable/workflow/WorkflowEngine"
import { ExecutionEnded, ExecutionNotFound, WorkflowNotFound } from "../errors.ts"
import { type MachineEntry, Machines } from "../Machines.ts"
import { optional, paged } from "../optional.ts"
import { mergedList } from "./mergedList.ts"

/** The phases of an execution. `Waiting`: a deferred of it was completed before it was started. */
export const phases = ["Waiting", "Running", "Compensating", "Suspended", "Held", "Completed", "Failed", "Interrupted"] as const

export interface ExecutionQuery {
  /** The workflow's name. Default: all workflows that this process knows. */
  readonly workflow?: string | undefined
  readonly phase?: (typeof phases)[number] | undefined
  readonly limit: number
  readonly after?: InstanceCursor | undefined
}

const prefix = DurableWorkflow.machineOf("")

const keyOf = (workflow: string, id: string): InstanceKey => ({ machine: DurableWorkflow.machineOf(workflow), id })

const listingOf = ({ machine, id, tag, reason, status, owner, sequence, startedAt, updatedAt }: InstanceRecord) => ({
  workflow: machine.slice(prefix.length),
  id,
  phase: tag,
  ended: status === "final",
  // While it runs, its record names the node in the place of a reason.
  ...optional({ problem: status === "held" ? reason : undefined, node: status === "running" ? (owner ?? reason) : undefined }),
  events: sequence,
  startedAt,
  updatedAt,
})

export type ExecutionListing = ReturnType<typeof listingOf>

const workflowsOf = (entries: ReadonlyArray<MachineEntry>) => entries.filter((entry) => entry._tag === "EffectWorkflow")

const known = Effect.flatMap(Machines, (machines) => Effect.map(machines.list, workflowsOf))

const findWorkflow = (name: string) =>
  Effect.gen(function* () {
    const entries = yield* known
    const found = entries.find((entry) => entry.workflow._tag === name)
    if (found !== undefined) return found.workflow
    return yield* new WorkflowNotFound({ workflow: name, known: entries.map((entry) => entry.workflow._tag) })
  })

const found = (workflow: string, id: string) =>
  Effect.flatMap(
    Effect.flatMap(Journal, (journal) => journal.open(keyOf(workflow, id))),
    Option.match({ onNone: () => Effect.fail(new ExecutionNotFound({ workflow, id })), onSome: Effect.succeed }),
  )

/** A page of executions, oldest change first. Those of workflows that are stored but not known here are among all. */
export const list = ({ workflow, phase, limit, after }: ExecutionQuery) =>
  Effect.gen(function* () {
    if (workflow !== undefined) yield* checkWorkflow(workflow)
    const stored = (yield* Effect.flatMap(Journal, (journal) => journal.machines)).filter((machine) => machine.startsWith(prefix))
    const machines = workflow === undefined ? stored : [DurableWorkflow.machineOf(workflow)]
    const filters = machines.map((machine) => ({ machine, ...optional({ tag: phase }) }))
    const page = yield* mergedList(filters, Math.min(1000, Math.max(1, limit)), after)
    return paged({ executions: page.instances.map(listingOf) }, page.next)
  })

/** Refuses a name that no workflow has, so that a misspelt one does not look like an empty list. */
const checkWorkflow = (name: string) =>
  Effect.gen(function* () {
    const counts = yield* Effect.flatMap(Journal, (journal) => journal.count(DurableWorkflow.machineOf(name)))
    if (counts.size === 0) yield* findWorkflow(name)
  })

/** Where an execution stands, and the durable clocks it waits for. */
export const get = (workflow: string, id: string) =>
  Effect.map(found(workflow, id), ({ record, timers }) => ({
    ...listingOf(record),
    clocks: timers.map(({ name, due }) => ({ name, due })),
  }))

export interface EventsPage {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** What happened to it, oldest first: `Activity/charge card`, `ClockSet/reminder`, `Suspended`, `Completed`. Results are not shown. */
export const history = (workflow: string, id: string, { after = 0, limit = 100 }: EventsPage = {}) =>
  Effect.gen(function* () {
    yield* found(workflow, id)
    const most = Math.min(1000, Math.max(1, limit))
    const records = yield* Effect.flatMap(Journal, (journal) => journal.events(keyOf(workflow, id), after, most + 1))
    const events = records.slice(0, most).map(({ sequence, at, tag }) => ({ sequence, at, event: tag }))
    return paged({ events }, records.length > most ? events.at(-1)?.sequence : undefined)
  })

/** The execution, if it has not ended, and its workflow, which must be known here. */
const changeable = (workflow: string, id: string) =>
  Effect.gen(function* () {
    const { record } = yield* found(workflow, id)
    if (record.status === "final") return yield* new ExecutionEnded({ workflow, id, phase: record.tag })
    return yield* findWorkflow(workflow)
  })

/** Runs an execution again that is suspended or held. One that runs is left as it is. */
export const resume = (workflow: string, id: string) =>
  Effect.gen(function* () {
    const definition = yield* changeable(workflow, id)
    yield* Effect.flatMap(WorkflowEngine, (engine) => engine.resume(definition, id))
    return yield* get(workflow, id)
  })

/** Interrupts an execution: no further activity starts, and the compensations of what is done run. */
export const interrupt = (workflow: string, id: string) =>
  Effect.gen(function* () {
    const definition = yield* changeable(workflow, id)
    yield* Effect.flatMap(WorkflowEngine, (engine) => engine.interrupt(definition, id))
    return yield* get(workflow, id)
  })
