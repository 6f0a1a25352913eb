/** The task of a worker process of the oracle: judges a range of journals by code that it loads itself, on a connection that reads only. */
import { DurableWorkflow, type Findings } from "@detent/durable"
import {
  type BeginJudging,
  judgeExecutions,
  judgeInstances,
  judgeRange,
  Probes,
  type RegisteredWorkflow,
  sideOf,
} from "@detent/durable/internal"
import type { TaskChannel } from "@detent/processes"
import { type Database, readerIn } from "@detent/store/Database"
import { type IdRange, JournalReader, type JournalReaderService, type JournalSelection } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { type Config, type ConfigRefused, loadConfig } from "../Config.ts"
import { optional } from "../optional.ts"
import { workflowsOf } from "./WorkflowsOf.ts"

export const judgeTask = "oracle.judge"

/** A database as it passes to a worker: over a channel that only the two processes can read. */
export type DatabasePlace = { readonly _tag: "Sqlite"; readonly file: string } | { readonly _tag: "Postgres"; readonly url: string }

export const placeOf = (database: Database): DatabasePlace =>
  database._tag === "Sqlite" ? database : { _tag: "Postgres", url: Redacted.value(database.url) }

const databaseAt = (place: DatabasePlace): Database =>
  place._tag === "Sqlite" ? place : { _tag: "Postgres", url: Redacted.make(place.url) }

export interface JudgeInput {
  readonly database: DatabasePlace
  /** The configuration file with the code that the instances ran with. Absent: they are compared with what the store has of them. */
  readonly before?: string
  /** The configuration file with the code to judge by. */
  readonly after: string
  readonly selection: JournalSelection
  readonly range: IdRange
  /** Timers that are due later do not fire. Absent: the oracle is not asked what would have been. */
  readonly whatIf?: number
  /** How many findings are returned one by one. */
  readonly findings: number
}

/** The connection of this worker. All its tasks are of one database. */
let opened: { readonly key: string; readonly runtime: ManagedRuntime.ManagedRuntime<JournalReader, unknown> } | undefined

const readerAt = (place: DatabasePlace) =>
  Effect.promise(async () => {
    const key = JSON.stringify(place)
    if (opened?.key === key) return opened.runtime
    await opened?.runtime.dispose()
    opened = { key, runtime: ManagedRuntime.make(Layer.orDie(readerIn(databaseAt(place)))) }
    return opened.runtime
  })

const machineIn = (config: Config, name: string) => {
  const machine = config.machines.find((one) => one.name === name)
  return machine === undefined ? undefined : sideOf(machine, config.upcasters?.[name])
}

/** A configuration, with its workflows where those are judged. */
export interface Code {
  readonly config: Config
  readonly workflows: ReadonlyMap<string, RegisteredWorkflow>
}

/** The question that two codes ask of the instances of a machine, or of the executions of a workflow. */
export const judgingBy = (
  machine: string,
  { before, after, whatIf }: { readonly before: Code | undefined; readonly after: Code; readonly whatIf: number | undefined },
  reader: JournalReaderService,
): BeginJudging | undefined => {
  if (isWorkflow(machine)) {
    const workflow = after.workflows.get(machine)
    if (workflow === undefined) return undefined
    return judgeExecutions({ before: before?.workflows.get(machine), after: workflow, whatIf: whatIf !== undefined }, reader)
  }
  const side = machineIn(after.config, machine)
  if (side === undefined) return undefined
  return judgeInstances({
    before: before === undefined ? undefined : machineIn(before.config, machine),
    after: side,
    whatIf,
    probes: new Probes(),
  })
}

/** Whether a name is that of a workflow, such as `workflow/trip`. */
export const isWorkflow = (machine: string): boolean => machine.startsWith(DurableWorkflow.machineOf(""))

const noWorkflows: ReadonlyMap<string, RegisteredWorkflow> = new Map()

/** The workflows of files that this worker has loaded. Their services last as long as the process. */
const loaded = new Map<string, ReadonlyMap<string, RegisteredWorkflow>>()
const lifetime = Scope.makeUnsafe()

const codeIn = (file: string, machine: string): Effect.Effect<Code, ConfigRefused> =>
  Effect.gen(function* () {
    const config = yield* loadConfig(file)
    if (!isWorkflow(machine)) return { config, workflows: noWorkflows }
    const workflows = loaded.get(file) ?? (yield* Scope.provide(workflowsOf(config), lifetime))
    loaded.set(file, workflows)
    return { config, workflows }
  })

/** Judges, and hands over the number of judged instances after each page. */
export const judge = (
  { database, before, after, selection, range, whatIf, findings }: JudgeInput,
  channel: TaskChannel,
): Promise<Findings> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { machine } = selection
      const runtime = yield* readerAt(database)
      const codes = {
        before: before === undefined ? undefined : yield* codeIn(before, machine),
        after: yield* codeIn(after, machine),
      }
      const reader: JournalReaderService = yield* Effect.promise(() => runtime.runPromise(JournalReader))
      const judging = judgingBy(machine, { ...codes, whatIf }, reader)
      if (judging === undefined) return yield* Effect.die(new Error(`${after} has no ${isWorkflow(machine) ? "" : "machine "}${machine}`))
      const progress = (judged: number) => Effect.promise(() => channel.emit([judged]))
      return yield* judgeRange(reader, judging, selection, range, { findings, ...optional({ progress }) })
    }),
  )
