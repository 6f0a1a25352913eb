/** The task of a worker process of the oracle: judges a range of journals by code that it loads itself, on a connection that reads only. */
import type { Findings } from "@detent/durable"
import { type BeginJudging, judgeInstances, judgeRange, Probes, sideOf } from "@detent/durable/internal"
import type { TaskChannel } from "@detent/processes"
import { type Database, readerIn } from "@detent/store/Database"
import { type IdRange, JournalReader, type JournalReaderService, type JournalSelection } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { type Config, loadConfig } from "../Config.ts"
import { optional } from "../optional.ts"

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

/** The question that two configurations ask of the instances of a machine. Undefined where the newer one has no such machine. */
export const judgingBy = (
  machine: string,
  before: Config | undefined,
  after: Config,
  whatIf: number | undefined,
): BeginJudging | undefined => {
  const side = machineIn(after, machine)
  if (side === undefined) return undefined
  return judgeInstances({
    before: before === undefined ? undefined : machineIn(before, machine),
    after: side,
    whatIf,
    probes: new Probes(),
  })
}

/** Judges, and hands over the number of judged instances after each page. */
export const judge = (
  { database, before, after, selection, range, whatIf, findings }: JudgeInput,
  channel: TaskChannel,
): Promise<Findings> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const runtime = yield* readerAt(database)
      const configs = yield* Effect.all({
        before: before === undefined ? Effect.undefined : loadConfig(before),
        after: loadConfig(after),
      })
      const judging = judgingBy(selection.machine, configs.before, configs.after, whatIf)
      if (judging === undefined) return yield* Effect.die(new Error(`${after} has no machine ${selection.machine}`))
      const reader: JournalReaderService = yield* Effect.promise(() => runtime.runPromise(JournalReader))
      const progress = (judged: number) => Effect.promise(() => channel.emit([judged]))
      return yield* judgeRange(reader, judging, selection, range, { findings, ...optional({ progress }) })
    }),
  )
