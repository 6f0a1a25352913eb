/**
 * A workspace is the database with instances, commands and timers, and the folder with the graphs of documents and uploaded files.
 * The command line and the server open it the same way.
 *
 * ```ts
 * const program = Effect.flatMap(Batches, (batches) => batches.list())
 * Effect.provide(program, Workspace.open({ data: ".detent", role: "observe" }))
 * ```
 */
import { join, resolve } from "node:path"
import { Engine } from "@detent/durable"
import { Knowledge } from "@detent/knowledge"
import { Uploads, type UploadsOptions } from "@detent/uploads"
import * as EffectConfig from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { Config } from "./Config.ts"
import { type Database, databaseOf, storesIn } from "./Database.ts"
import { makeFolder } from "./Folder.ts"
import { Machines } from "./Machines.ts"
import { takeNodeName } from "./NodeName.ts"
import { RequestKeys } from "./RequestKeys.ts"

export { DatabaseRefused, type Stores } from "./Database.ts"

/** `observe` reads only, also while another process works; `work` resumes everything that is unfinished. */
export type Role = "observe" | "work"

export interface WorkspaceOptions {
  /** The data folder, created if it is missing. Default: `.detent`. */
  readonly data?: string
  /** `sqlite:PATH` or `postgres://…`. Default: DETENT_DATABASE_URL, then `detent.db` in the folder. */
  readonly database?: string | undefined
  readonly role: Role
  /** Machines of the user, from `readConfig`. */
  readonly config?: Config | undefined
  /** Further folders whose documents may be read. */
  readonly readable?: ReadonlyArray<string>
  /** Folders that were allowed since the workspace was opened. Asked when a document is in none of the others. */
  readonly allowedSince?: (() => ReadonlyArray<string>) | undefined
  readonly uploads?: Omit<UploadsOptions, "folder">
  readonly knowledge?: Omit<Knowledge.KnowledgeOptions, "folder" | "readable" | "allowedSince" | "nodeId">
}

/** The facts about the opened home. */
export interface WorkspaceService {
  /** An absolute path. */
  readonly data: string
  readonly database: Database["_tag"]
  readonly role: Role
  readonly config: Config | undefined
}

/** The folder of a workspace cannot be made, or the services of a configuration could not be started. */
export class WorkspaceRefused extends Schema.TaggedError<WorkspaceRefused>()("WorkspaceRefused", {
  problem: Schema.String,
  nextStep: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message() {
    return `${this.problem}: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}; ${this.nextStep}`
  }
}

export class Workspace extends Context.Service<Workspace, WorkspaceService>()("@detent/workspace/Workspace") {
  static readonly open = (options: WorkspaceOptions) =>
    Layer.unwrap(
      Effect.gen(function* () {
        const data = resolve(options.data ?? ".detent")
        const database = yield* Effect.fromResult(databaseOf(options.database ?? (yield* databaseInEnvironment), data))
        yield* Effect.try({
          try: () => makeFolder(data),
          catch: (cause) =>
            new WorkspaceRefused({ problem: `the folder ${data} cannot be made`, nextStep: "choose another with --data", cause }),
        })
        const here = Layer.succeed(Workspace, { data, database: database._tag, role: options.role, config: options.config })
        const inhabited = options.role === "observe" ? observing(options, data) : working(options, data)
        return Layer.mergeAll(here, withConfig(options.config), RequestKeys.layer).pipe(
          Layer.provideMerge(Machines.layer),
          Layer.provideMerge(inhabited),
          Layer.provideMerge(storesIn(database)),
        )
      }),
    )
}

/** Everything a workspace provides. */
export type WorkspaceServices = Layer.Success<ReturnType<typeof Workspace.open>>

/** Why a workspace could not be opened. */
export type WorkspaceError = Layer.Error<ReturnType<typeof Workspace.open>>

/** The same variable for every command and the server. */
const databaseInEnvironment = Effect.orDie(EffectConfig.String("DETENT_DATABASE_URL").pipe(EffectConfig.withDefault("")))

const systemsOf = (options: WorkspaceOptions, data: string): Knowledge.KnowledgeOptions => ({
  ...options.knowledge,
  folder: data,
  readable: options.readable ?? [],
  allowedSince: options.allowedSince,
})

const uploadsIn = (options: WorkspaceOptions, data: string) => Uploads.layer({ ...options.uploads, folder: join(data, "uploads") })

const observing = (options: WorkspaceOptions, data: string) =>
  uploadsIn(options, data).pipe(Layer.provideMerge(Knowledge.layerObserving(systemsOf(options, data))))

const working = (options: WorkspaceOptions, data: string) =>
  Layer.unwrap(
    Effect.map(takeNodeName(data), (nodeId) =>
      uploadsIn(options, data).pipe(Layer.provideMerge(Knowledge.layer({ ...systemsOf(options, data), nodeId }))),
    ),
  )

/** The machines of the configuration, registered with the services they need. */
const withConfig = (config: Config | undefined): Layer.Layer<never, WorkspaceRefused, Engine | SqlClient> => {
  if (config === undefined) return Layer.empty
  const services = (config.layers ?? Layer.empty) as Layer.Layer<unknown, unknown, SqlClient>
  return Layer.effectDiscard(
    Effect.gen(function* () {
      const engine = yield* Engine
      for (const machine of config.machines) {
        const upcasters = config.upcasters?.[machine.name]
        yield* engine.register(machine, upcasters === undefined ? {} : { upcasters })
      }
    }),
  ).pipe(
    Layer.provide(services),
    Layer.catch((cause) =>
      Layer.effectDiscard(
        Effect.fail(
          new WorkspaceRefused({
            problem: "the machines of the configuration could not be started",
            nextStep: "correct its layers",
            cause,
          }),
        ),
      ),
    ),
  )
}
