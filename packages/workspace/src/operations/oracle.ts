/**
 * The oracle: what would other code make of the instances that are stored? Reads only. Journals are judged in worker processes, each with a
 * connection of its own; those of a database that no other process can reach, and by definitions that no file has, in this process.
 */
import { statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { resolve } from "node:path"
import { DurableWorkflow, type Findings, Journal } from "@detent/durable"
import { FindingsOf, failingOf, judgeInstances, judgeRange, Probes, readerOf, sideOf } from "@detent/durable/internal"
import type { PersistenceFailed } from "@detent/machine"
import { makeProcessPool, moduleBeside, type ProcessPool } from "@detent/processes"
import { readerIn } from "@detent/store/Database"
import { type EndedBetween, type IdRange, JournalReader, type JournalReaderService, type JournalSelection } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Config, ConfigRefused, configFileIn, fileOf, loadConfig } from "../Config.ts"
import { CurrentWorkspace } from "../CurrentWorkspace.ts"
import { definitionOf } from "../config/Workflows.ts"
import { Machines } from "../Machines.ts"
import { optional } from "../optional.ts"
import { type Code, isWorkflow, type JudgeInput, judgeTask, judgingBy, placeOf } from "../oracle/OracleTask.ts"
import { workflowsOf } from "../oracle/WorkflowsOf.ts"
import { findEntry } from "./find.ts"

/** What to judge, and by which code. */
export interface OracleRequest {
  /** One machine. Default: all. */
  readonly machine?: string | undefined
  /**
   * The folder, or the configuration file, of the code to judge by. The code of the workspace is then the one that the instances are said to
   * have run with. Default: the code of the workspace, compared with what the store has of the instances.
   */
  readonly against?: string | undefined
  /** Judges instances that have ended too, by when they ended. Milliseconds since 1970. */
  readonly ended?: EndedBetween | undefined
  /** Asks how the ended instances would have ended. Default of `ended`: all; running instances are left out. */
  readonly whatIf?: boolean | undefined
  /** How many instances that differ or are held are listed one by one, of each machine. Default: 20. */
  readonly findings?: number | undefined
  /** How many worker processes. Default: one for each processor of the machine. */
  readonly workers?: number | undefined
  readonly onProgress?: ((progress: OracleProgress) => Effect.Effect<void>) | undefined
}

export interface OracleProgress {
  readonly machine: string
  /** Of all machines. */
  readonly judged: number
  readonly total: number
}

export interface MachineReport extends Findings {
  /** Whether the code has its definition, so that it can be judged. */
  readonly registered: boolean
  /** Instances that were not judged, because there is no definition. */
  readonly unchecked: number
}

/** A worker process could not judge: it exceeded a limit, or the code that it loaded has failed. */
export class OracleFailed extends Schema.TaggedError<OracleFailed>()("OracleFailed", { machine: Schema.String, problem: Schema.String }) {
  override get message() {
    return `the instances of ${this.machine} could not be judged: ${this.problem}; run it again with one worker, or correct the code`
  }
}

/** Instances that a worker judges in one task. */
const rangeSize = 5000

/** A step is a page of journals: longer than this, a decision of the code does not return. */
const limit = { time: "1 minute", start: "2 minutes", memory: 2048 } as const

const defaultFindings = 20

/** The most findings that a report lists of one machine. */
export const mostFindings = 10_000

export { failingOf }

/** Judges stored instances. Writes nothing. */
export const check = (request: OracleRequest = {}) => Effect.scoped(judgeAll(request))

const judgeAll = (request: OracleRequest) =>
  Effect.gen(function* () {
    const { config, address } = yield* CurrentWorkspace
    const journal = yield* Journal
    const isShared = address._tag === "Postgres" || address.file !== ":memory:"
    const reader = isShared ? Context.get(yield* Layer.build(readerIn(address)), JournalReader) : readerOf(journal)
    const candidate = request.against === undefined ? undefined : yield* configAt(request.against)
    const whatIf = request.whatIf === true ? yield* Clock.currentTimeMillis : undefined
    const targets = yield* targetsOf(request, reader, config, candidate)
    const ended = request.ended ?? (whatIf === undefined ? undefined : {})
    const divided = yield* Effect.forEach(targets, (target) => {
      const selection: JournalSelection = { machine: target.machine, unended: whatIf === undefined, ended }
      return Effect.map(reader.divide(selection, rangeSize), (division) => ({ ...target, ...division, selection }))
    })
    const total = divided.reduce((sum, { count, isKnown }) => sum + (isKnown ? count : 0), 0)
    const size = Math.max(1, Math.min(request.workers ?? availableParallelism(), 64))
    const pool = yield* makeProcessPool({
      entry: moduleBeside(import.meta.url, "../oracle/OracleWorker"),
      limit,
      size,
      keptBelow: limit.memory,
    })
    let judged = 0
    const findings = Math.max(0, Math.min(request.findings ?? defaultFindings, mostFindings))
    return yield* Effect.forEach(divided, ({ machine, isKnown, before, after, count, ranges, selection, definition }) =>
      Effect.gen(function* () {
        const found = new FindingsOf(machine, findings)
        const nothing = { ...found.result, registered: isKnown, unchecked: isKnown ? 0 : count }
        if (!isKnown || count === 0) return nothing satisfies MachineReport
        const progress = (by: number) => {
          judged += by
          return request.onProgress?.({ machine, judged, total }) ?? Effect.void
        }
        const [old, now] = [before === undefined ? undefined : fileOf(before), after === undefined ? undefined : fileOf(after)]
        const canLoad = isShared && now !== undefined && (before === undefined || old !== undefined)
        const inWorker = (range: IdRange, after: string): Judged => {
          const input = { database: placeOf(address), after, selection, range, findings, ...optional({ before: old, whatIf }) }
          return judgeInWorker(pool, input, progress)
        }
        const codes = canLoad || after === undefined ? undefined : yield* codesOf(machine, before, after)
        const here = (range: IdRange): Judged => {
          const judging =
            codes === undefined
              ? judgeInstances({ before: undefined, after: sideOf(definition ?? { name: machine }), whatIf, probes: new Probes() })
              : judgingBy(machine, { ...codes, whatIf }, reader)
          return judging === undefined ? Effect.succeed(nothing) : judgeRange(reader, judging, selection, range, { findings, progress })
        }
        yield* Effect.forEach(
          ranges,
          (range) =>
            Effect.map(canLoad && now !== undefined ? inWorker(range, now) : here(range), (part: Findings) => {
              found.merge(part)
            }),
          { concurrency: canLoad ? size : 1, discard: true },
        )
        return { ...found.result, registered: true, unchecked: 0 } satisfies MachineReport
      }),
    )
  })

/** The codes, with their workflows where those are judged in this process. */
const codesOf = (machine: string, before: Config | undefined, after: Config) => {
  const codeOf = (config: Config): Effect.Effect<Code, ConfigRefused, Scope.Scope> =>
    isWorkflow(machine)
      ? Effect.map(workflowsOf(config), (workflows) => ({ config, workflows }))
      : Effect.succeed({ config, workflows: new Map() })
  return Effect.gen(function* () {
    return { before: before === undefined ? undefined : yield* codeOf(before), after: yield* codeOf(after) }
  })
}

type Judged = Effect.Effect<Findings, OracleFailed | PersistenceFailed>

const judgeInWorker = (pool: ProcessPool, input: JudgeInput, progress: (by: number) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    let findings: Findings | undefined
    const done = (output: unknown) => {
      // The worker of this package has made it.
      findings = output as Findings
    }
    const pages = pool.stream(judgeTask, input, { done })
    yield* Effect.mapError(
      Stream.runForEach(pages, (judged) => progress(Number(judged))),
      (error) =>
        new OracleFailed({ machine: input.selection.machine, problem: error._tag === "TaskFailed" ? error.problem : error.message }),
    )
    if (findings === undefined) return yield* new OracleFailed({ machine: input.selection.machine, problem: "its worker returned nothing" })
    return findings
  })

/** The configuration to judge by: a file, or that in a folder. */
const configAt = (place: string) =>
  Effect.gen(function* () {
    const path = resolve(place)
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    const file = isFolder ? configFileIn(path) : path
    if (file !== undefined) return yield* loadConfig(file)
    return yield* new ConfigRefused({
      file: place,
      problem: "the folder has no detent.config.ts",
      nextStep: "name the folder of a project",
    })
  })

interface Target {
  readonly machine: string
  readonly isKnown: boolean
  readonly before?: Config | undefined
  readonly after?: Config | undefined
  /** Of a machine that comes with Detent. */
  readonly definition?: { readonly name: string }
}

/**
 * The machines and workflows to judge: those of the code and, where none is named, all that have instances. A machine that comes with Detent
 * is judged by the definition of this process, unless a configuration has one of the same name. A workflow that comes with Detent is not
 * judged: its code is that of the installed version.
 */
const targetsOf = (
  { machine }: Pick<OracleRequest, "machine">,
  reader: JournalReaderService,
  config: Config | undefined,
  candidate: Config | undefined,
) =>
  Effect.gen(function* () {
    const inCandidate = candidate === undefined ? [] : namesIn(candidate)
    if (machine !== undefined && !inCandidate.includes(machine)) yield* findEntry(machine)
    const stored = yield* reader.machines
    const listed = yield* Effect.flatMap(Machines, (machines) => machines.list)
    const after = candidate ?? config
    const inAfter = new Set(after === undefined ? [] : namesIn(after))
    const configured = new Set([...(config === undefined ? [] : namesIn(config)), ...inCandidate])
    const names = machine === undefined ? [...new Set([...configured, ...stored])].sort() : [machine]
    return names.flatMap((name): ReadonlyArray<Target> => {
      if (after !== undefined && inAfter.has(name)) {
        return [{ machine: name, isKnown: true, after, before: candidate === undefined ? undefined : config }]
      }
      const entry = configured.has(name) ? undefined : listed.find((one) => one.name === name)
      if (entry?._tag === "Machine") return [{ machine: name, isKnown: true, definition: entry.machine }]
      return entry === undefined ? [{ machine: name, isKnown: false }] : []
    })
  })

/** The machines and workflows of a configuration, by the names of their instances. */
const namesIn = ({ machines, workflows = [] }: Config): ReadonlyArray<string> => [
  ...machines.map(({ name }) => name),
  ...workflows.map((one) => DurableWorkflow.machineOf(definitionOf(one)._tag)),
]
