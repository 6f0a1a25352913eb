/** The Node that a new project runs on: the first on the user's PATH, which may be older than the one that runs this command. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { delimiter, dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const PackageJson = Schema.fromJsonString(Schema.Struct({ engines: Schema.Struct({ node: Schema.String }) }))

/** Returns why a project would not install on the user's Node, and what to do; undefined where it does. */
export const nodeProblem: Effect.Effect<string | undefined> = Effect.gen(function* () {
  const { engines } = Schema.decodeSync(PackageJson)(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  const needed = engines.node.replace(">=", "")
  const found = yield* versionOnPath
  if (found !== undefined && !isOlder(found, needed)) return undefined
  const which = found === undefined ? "there is none on your PATH" : `the one on your PATH is ${found}`
  // The Node that runs this command is new enough: otherwise the command would not have started.
  const path = `export PATH="${dirname(process.execPath)}${delimiter}$PATH"`
  return `The project needs Node ${needed} or later, and ${which}. Put a newer one first: ${path}`
})

/** The version of the first Node on the PATH; undefined where there is none. */
const versionOnPath: Effect.Effect<string | undefined> = Effect.callback((resume) => {
  execFile("node", ["--version"], { env: { ...process.env, PATH: pathOfShell() } }, (error, stdout) =>
    resume(Effect.succeed(error === null ? stdout.trim().replace(/^v/, "") : undefined)),
  )
})

/** The PATH without the folders that npx and npm add for the commands that they run. */
const pathOfShell = (): string =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder))
    .join(delimiter)

const isOlder = (version: string, other: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}
