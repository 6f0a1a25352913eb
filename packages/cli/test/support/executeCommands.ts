/**
 * A process that executes many commands of `detent`, one after the other, so that Effect and the packages are loaded once and not for
 * each command. Its parent sends a command, and gets its exit code when everything the command wrote has been written.
 */
import { statSync } from "node:fs"
import { registerHooks } from "node:module"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pathToFileURL } from "node:url"
import { sharedWorkers } from "@detent/knowledge/testing/SharedWorkers"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type { GlobalValues, Values } from "../../src/line/Command.ts"
import { parseLine } from "../../src/line/parse.mjs"
import { concluded, execute } from "../../src/main.ts"
import type { Executed, ToExecute } from "./SharedProcess.ts"
import { sharedWorkspace } from "./sharedWorkspace.ts"

const repository = pathToFileURL(`${join(import.meta.dirname, "../../../..")}/`).href

// A test changes the files of its project between two commands: each version is a module of its own.
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    if (!resolved.url.startsWith("file:") || resolved.url.startsWith(repository)) return resolved
    const url = new URL(resolved.url)
    url.search = String(statSync(url).mtimeMs)
    return { ...resolved, url: url.href }
  },
})

const become = ({ args, cwd, env, input }: ToExecute): void => {
  process.chdir(cwd)
  process.argv = [process.execPath, "detent", ...args]
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  Object.defineProperty(process, "stdin", { configurable: true, value: Readable.from(input === "" ? [] : [Buffer.from(input)]) })
}

const codeOf = async (args: ReadonlyArray<string>): Promise<number> => {
  const line = parseLine(args)
  if (line._tag !== "Run") throw new Error(`${args.join(" ")} is not a command that runs`)
  // The parser has checked the options that all commands have.
  const values = line.values as Values & GlobalValues
  // What a command counts is its own, and so is its environment.
  const executing = execute(line.command, values).pipe(
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv()),
    Effect.provide(Layer.merge(sharedWorkspace, sharedWorkers)),
  )
  return concluded(await Effect.runPromiseExit(executing), line.command, values)
}

const written = (stream: NodeJS.WriteStream, text: string) => new Promise<void>((resume) => stream.write(text, () => resume()))

process.on("message", async (command: ToExecute) => {
  become(command)
  const code = await codeOf(command.args)
  await Promise.all([written(process.stdout, command.end), written(process.stderr, command.end)])
  process.send?.({ code } satisfies Executed)
})
process.on("disconnect", () => process.exit())
