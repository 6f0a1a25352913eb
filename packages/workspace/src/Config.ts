/**
 * What a program of your own adds to a workspace: `detent.config.ts` in the working folder.
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
import type { Upcasters } from "@detent/durable"
import { nearest } from "@detent/entity"
import type { Machine } from "@detent/machine"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/unstable/sql/SqlClient"

/** A machine that needs the services `R` for its work. */
export type AnyMachine<R> = Machine.Definition<unknown, unknown, never, R>

interface Settings<R> {
  /** Machines to register: their instances resume and their timers fire. */
  readonly machines: ReadonlyArray<AnyMachine<R>>
  /** How to read what older versions of a machine wrote, by the machine's name. */
  readonly upcasters?: Readonly<Record<string, Upcasters>>
}

/** What the work of the machines needs. The database of the workspace can be used. */
export type ConfigLayer<R> = Layer.Layer<R, unknown, SqlClient>

/** Services without a layer do not type-check. */
export type ConfigOf<R> = [R] extends [never]
  ? Settings<R> & { readonly layers?: ConfigLayer<R> }
  : Settings<R> & { readonly layers: ConfigLayer<R> }

/** A configuration as it was read from a file. */
export interface Config extends Settings<unknown> {
  readonly layers?: ConfigLayer<unknown>
}

/** Checks the configuration by its types and erases them for `Workspace.open`. */
export const defineConfig = <R = never>(config: ConfigOf<R>): Config => config as Config

/** The file of a configuration is there, but nothing can be done with it. */
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

/** The configuration in a folder; one without machines where there is no file. */
export const readConfig = (folder: string): Effect.Effect<Config, ConfigRefused> =>
  Effect.suspend(() => {
    const file = fileNames.map((name) => resolve(join(folder, name))).find(existsSync)
    return file === undefined ? Effect.succeed({ machines: [] }) : loadConfig(file)
  })

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
    const problem = problemOf(module.default)
    if (problem !== undefined) return yield* new ConfigRefused({ file, ...problem })
    return module.default as Config
  })

/** All settings of a configuration. */
const settings = ["machines", "upcasters", "layers"]

type Problem = Pick<ConfigRefused, "problem" | "nextStep">

const problemOf = (config: unknown): Problem | undefined => {
  const example = "export default defineConfig({ machines: [...] })"
  if (typeof config !== "object" || config === null)
    return { problem: "its default export is no configuration", nextStep: `write ${example}` }
  const unknown = Object.keys(config).find((name) => !settings.includes(name))
  if (unknown !== undefined) {
    const near = nearest(unknown, settings)
    return {
      problem: `it has no setting ${unknown}`,
      nextStep: near === undefined ? `known are ${settings.join(", ")}` : `did you mean ${near}?`,
    }
  }
  const { machines } = config as { readonly machines?: unknown }
  if (!Array.isArray(machines)) return { problem: "it has no list of machines", nextStep: `write ${example}` }
  const wrong = machines.findIndex((machine) => !isMachine(machine))
  if (wrong !== -1) return { problem: `machines[${wrong}] is no machine`, nextStep: "make it with Machine.make({ ... })" }
  const names = machines.map(({ name }: AnyMachine<unknown>) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return { problem: `two machines have the name ${twice}`, nextStep: "give each a name of its own" }
  return undefined
}

const isMachine = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "blueprint" in value && "name" in value && typeof value.name === "string"
