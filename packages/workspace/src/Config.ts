/**
 * The configuration of a project: `detent.config.ts` in the working folder. Types check every setting where it is written, and
 * `readConfig` decodes all of them again.
 *
 * ```ts
 * import { defineConfig } from "@detent/workspace/Config"
 * import { Order } from "./Order.ts"
 *
 * export default defineConfig({ machines: [Order] })
 * ```
 */
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { checkConfig } from "./config/ConfigCheck.ts"
import type { Config, ConfigOf } from "./config/Settings.ts"

export type {
  AnyMachine,
  Config,
  ConfigLayer,
  ConfigOf,
  ConfiguredWorkflow,
  HttpLimits,
  ProvidedServices,
  UploadType,
  WorkflowEvents,
  WorkspaceLimits,
} from "./config/Settings.ts"

/** Checks the configuration by its types and erases them for `Workspace.open`. */
export const defineConfig = <R = never, W = never>(config: ConfigOf<R, W>): Config => ({ machines: [], ...config }) as Config

/** The configuration file exists, but is not valid. */
export class ConfigRefused extends Schema.TaggedError<ConfigRefused>()("ConfigRefused", {
  file: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `${this.file}: ${this.problem}; ${this.nextStep}`
  }
}

const fileNames = ["detent.config.ts", "detent.config.js", "detent.config.mjs"]

/** The configuration in a folder, if there is one. */
export const findConfig = (folder: string): Effect.Effect<Option.Option<Config>, ConfigRefused> =>
  Effect.suspend(() => {
    const file = configFileIn(folder)
    return file === undefined ? Effect.succeedNone : Effect.asSome(loadConfig(file))
  })

/** The path of the configuration file in a folder. */
export const configFileIn = (folder: string): string | undefined => fileNames.map((name) => resolve(join(folder, name))).find(existsSync)

/** The files that configurations were loaded from, for worker processes, which load them too. */
const files = new WeakMap<Config, string>()

/** The path of the file that a configuration was loaded from. Undefined for one that a program has made. */
export const fileOf = (config: Config): string | undefined => files.get(config)

/** The configuration in a folder. Without a file: a configuration without machines. */
export const readConfig = (folder: string): Effect.Effect<Config, ConfigRefused> =>
  Effect.map(
    findConfig(folder),
    Option.getOrElse((): Config => ({ machines: [] })),
  )

/** The configuration in a file. */
export const loadConfig = (file: string): Effect.Effect<Config, ConfigRefused> =>
  Effect.gen(function* () {
    const module = yield* Effect.tryPromise({
      try: () => import(pathToFileURL(resolve(file)).href) as Promise<{ readonly default?: unknown }>,
      catch: (cause) =>
        new ConfigRefused({
          file,
          problem: `it cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`,
          nextStep: `run \`node ${file}\` to see where it fails`,
        }),
    })
    const config = readByWorkers(yield* decodeConfig(file, module.default), pathToFileURL(resolve(file)).href)
    files.set(config, resolve(file))
    return config
  })

/** Names the configuration file as the module of each upload definition: worker processes import it to read items. */
const readByWorkers = (config: Config, module: string): Config => {
  if (config.uploads === undefined) return config
  const uploads = config.uploads.map((one) =>
    one === "items" ? one : { ...one, kind: { ...one.kind, module: one.kind.module ?? module } },
  )
  return { ...config, uploads }
}

/** Decodes a configuration, written in TypeScript or JavaScript. Errors name `file`. */
export const decodeConfig = (file: string, value: unknown): Effect.Effect<Config, ConfigRefused> =>
  checkConfig(value).pipe(
    Effect.mapError((problem) => new ConfigRefused({ file, ...problem })),
    Effect.tap((config) =>
      Effect.sync(() => {
        const known = files.get(value as Config)
        if (known !== undefined) files.set(config, known)
      }),
    ),
  )
