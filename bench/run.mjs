/**
 * Starts the benchmarks: reads the command line, installs the peers on first use, those of a group with it, and measures in a child process with the
 * Node of the workspace. Plain JavaScript, so that any Node from version 20 can start it.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installOnDemand } from "../scripts/install-on-demand.mjs"
import { help, readArguments } from "./arguments.mjs"

const here = fileURLToPath(new URL(".", import.meta.url))

const read = readArguments(process.argv.slice(2))
if ("help" in read) console.log(help)
else if ("problem" in read) {
  console.error(`${read.problem}\nnpm run bench -- --help lists groups and options.`)
  process.exitCode = 2
} else {
  if (!installOnDemand(here, "the libraries to measure against")) process.exit(1)
  const node = join(here, "..", "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")
  if (!existsSync(node)) {
    console.error("The dependencies are missing; npm run bench installs them.")
    process.exit(1)
  }
  for (const choice of read.choices) {
    const folder = join(here, "groups", choice.group)
    if (existsSync(join(folder, "package.json")) && !installOnDemand(folder, `the engines of the group ${choice.group}`)) process.exit(1)
    const code = await measure(node, choice)
    if (code !== 0) process.exitCode = code
    if (code === 130 || code === 143) break
  }
  if (read.choices.some(({ record }) => record)) await exitCodeOf(spawn(node, [join(here, "..", "docs", "fill.mjs")], { stdio: "inherit" }))
}

/**
 * @param {string} node
 * @param {import("./arguments.mjs").Choice} choice
 */
function measure(node, choice) {
  const child = spawn(node, ["--expose-gc", join(here, "main.ts"), JSON.stringify(choice)], { stdio: "inherit" })
  return exitCodeOf(child)
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<number>}
 */
function exitCodeOf(child) {
  // Ctrl-C reaches the child as well; this process only has to outlive it. A SIGTERM to this process is forwarded.
  const ignore = () => undefined
  const stop = () => child.kill("SIGTERM")
  process.on("SIGINT", ignore)
  process.on("SIGTERM", stop)
  return new Promise((resolve) => {
    const end = (/** @type {number} */ code) => {
      process.off("SIGINT", ignore)
      process.off("SIGTERM", stop)
      resolve(code)
    }
    child.on("error", (error) => {
      console.error(error.message)
      end(1)
    })
    child.on("exit", (code, signal) => end(code ?? (signal === "SIGINT" ? 130 : 143)))
  })
}
