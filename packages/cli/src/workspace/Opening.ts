/**
 * Opens a workspace for a command: to read, to change one object, to work on one object, or to work on everything. Each way loads
 * `detent.config.ts` of the working folder.
 */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import type { Uploads } from "@detent/uploads"
import type { ClusterSettings } from "@detent/workspace/ClusterMember"
import { type Config, findConfig } from "@detent/workspace/Config"
import { databaseOf as readAddress } from "@detent/workspace/Database"
import type { SystemName, SystemOff } from "@detent/workspace/errors"
import { bulkMachine, type KnowledgeServices, Systems } from "@detent/workspace/Systems"
import type { WorkspaceOptions, WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { NothingFound } from "../Failure.ts"
import type { GlobalValues } from "../line/Command.ts"
import { Workspaces } from "../Workspaces.ts"
import { madeFolder } from "./Folder.ts"
import { knownSources, sourcesNow } from "./Sources.ts"

export type Place = Pick<GlobalValues, "data" | "database">

/** The options to open the same workspace again. The address of a database may contain a password, so it is not repeated. */
export const placeText = ({ data, database }: Place): string =>
  `${data === ".detent" ? "" : ` --data ${shellWord(data)}`}${database === undefined ? "" : " --database …"}`

/** A text as one word of a shell. */
const shellWord = (text: string): string => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** The services of a workspace, or why it could not be opened. */
export type Opened<S = never> = Layer.Layer<WorkspaceServices | S, unknown, Workspaces>

export const databaseOf = ({ database }: Place): string | undefined => database ?? process.env["DETENT_DATABASE_URL"]

type Opening = Omit<WorkspaceOptions, "data" | "database" | "config">

/** Opens the workspace to read, also while other processes work. Creates nothing. */
export const observing = (place: Place): Opened => observingWith(place, [])

/** Opens the workspace to read the configuration rather than stored data. */
export const observed = (place: Place): Opened => observedWith(place, [])

/** Opens the workspace to act on an instance. Another process runs the work of its state and executes the commands that it requests. */
export const acting = (place: Place): Opened => opened(place, actingOptions)

/** Opens the workspace to run a job that sends an event to many instances. Other processes run the work of these instances. */
export const actingOnMany = (place: Place): Opened =>
  opened(place, { ...actingOptions, engine: { ...actingOptions.engine, work: [bulkMachine] } })

/** Opens the workspace to work on all unfinished and new work. */
export const workingOnAll = (place: Place, cluster?: ClusterSettings, more: Pick<Opening, "onBatchEnd"> = {}): Opened =>
  opened(place, { role: "work", ...(cluster === undefined ? {} : { cluster }), ...more })

/** Like `workingOnAll`, with both systems on, regardless of the configuration. `sample` is used where there is no configuration. */
export const workingOnDemo = (place: Place, readable: ReadonlyArray<string>, sample: Config): Opened<KnowledgeServices | Uploads> =>
  Layer.provideMerge(
    Layer.mergeAll(Systems.knowledge, Systems.uploads),
    opened(place, { role: "work", readable, knowledge: {}, uploads: {} }, [], sample),
  )

const actingOptions: Opening = { role: "work", engine: { resume: false, worker: false, work: false } }

/**
 * The same ways for commands of a system. Without a configuration, the command turns the system on. With a configuration that has no
 * section for the system, the command is refused, unless the database has data of the system.
 */
const naming = <S>(system: SystemName, services: Layer.Layer<S, SystemOff, Systems>) => {
  const withServices = (workspace: Opened): Opened<S> => Layer.provideMerge(services, workspace)
  return {
    observing: (place: Place): Opened<S> => withServices(observingWith(place, [system])),
    observed: (place: Place): Opened<S> => withServices(observedWith(place, [system])),
    /** Opens the workspace to read documents that no batch has been started from yet. */
    estimating: (place: Place, readable: ReadonlyArray<string>): Opened<S> =>
      withServices(opened(place, { role: "observe", readable }, [system])),
    /** Opens the workspace to act on a batch or upload. Its work runs here, since the caller waits for it; its commands do not. */
    acting: (place: Place): Opened<S> => withServices(opened(place, { role: "work", engine: { resume: false, worker: false } }, [system])),
    /** Opens the workspace to run one activity. Other processes run the tasks of the queue. */
    activity: (place: Place): Opened<S> => withServices(opened(place, { role: "work", engine: { resume: false }, tasks: false }, [system])),
    /** Opens the workspace to work on one batch or upload. Does not resume other unfinished work. */
    working: (place: Place, readable: ReadonlyArray<string> = []): Opened<S> =>
      withServices(opened(place, { role: "work", readable, engine: { resume: false } }, [system])),
  }
}

export const knowledge = naming("knowledge", Systems.knowledge)

export const uploads = naming("uploads", Systems.uploads)

/** For agents, which may start batches: knowledge is on by default where there is no configuration. */
export const forAgents = {
  observed: (place: Place): Opened => observedWith(place, ["knowledge"]),
  working: (place: Place): Opened => opened(place, { role: "work", engine: { resume: false } }, ["knowledge"]),
}

const observingWith = (place: Place, asked: ReadonlyArray<SystemName>): Opened =>
  Layer.unwrap(Effect.as(isThere(place), observedWith(place, asked)))

const observedWith = (place: Place, asked: ReadonlyArray<SystemName>): Opened =>
  Layer.unwrap(Effect.as(hasFile(databaseSetting(place), databaseOf(place)), opened(place, { role: "observe" }, asked)))

const opened = (place: Place, options: Opening, asked: ReadonlyArray<SystemName> = [], otherwise?: Config): Opened =>
  Layer.unwrap(
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      if (!isBucketLocation(place.data)) yield* madeFolder(place.data)
      const config = Option.getOrElse(yield* findConfig("."), () => otherwise)
      const sources = yield* knownSources(place.data)
      return workspaces.open({
        ...options,
        asked,
        data: place.data,
        database: databaseOf(place),
        config,
        // A process may read documents below the working folder, and in folders that batches were started from.
        readable: [...new Set([process.cwd(), ...sources, ...(options.readable ?? [])])],
        allowedSince: () => sourcesNow(place.data),
      })
    }),
  )

/** Refuses a missing SQLite file that the user named: the store would create it, and the workspace would look empty. */
const hasFile = (setting: string, address: string | undefined): Effect.Effect<void, NothingFound> =>
  Effect.suspend(() => {
    const file = sqliteFileOf(address)
    if (file === undefined || existsSync(file)) return Effect.void
    const nextStep = `correct ${setting}, or start with \`detent dev\`, which creates it`
    return Effect.fail(new NothingFound({ what: `SQLite database ${file}`, nextStep }))
  })

const databaseSetting = ({ database }: Place): string => (database === undefined ? "DETENT_DATABASE_URL" : "--database")

/** The SQLite file of an address. Undefined for other databases, an invalid address, and a database in memory. */
const sqliteFileOf = (address: string | undefined): string | undefined => {
  if (address === undefined || address === "") return undefined
  const database = Option.getOrUndefined(Result.getSuccess(readAddress(address, "")))
  return database?._tag === "Sqlite" && database.file !== ":memory:" ? database.file : undefined
}

/** Refuses a missing folder, so that a mistyped name does not create an empty workspace. */
export const isThere = (place: Place): Effect.Effect<void, NothingFound> =>
  Effect.suspend(() =>
    databaseOf(place) !== undefined || isBucketLocation(place.data) || existsSync(resolve(place.data))
      ? Effect.void
      : Effect.fail(
          new NothingFound({
            what: `workspace in the folder ${place.data}`,
            nextStep: "name another with --data, or create one with `detent dev --demo`",
          }),
        ),
  )
