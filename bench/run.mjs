/**
 * Starts the benchmarks: reads the command line, installs the peers on first use, and measures in a process of its own on
 * the Node of the workspace. Plain JavaScript, so that any Node from 20 on can start it.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { installOnDemand } from "../scripts/install-on-demand.mjs"
import { help, readArguments } from "./arguments.mjs"

const here = fileURLToPath(new URL(".", import.meta.url))

const choice = readArguments(process.argv.slice(2))
if ("help" in choice) console.log(help)
else if ("problem" in choice) {
  console.error(`${choice.problem}\nnpm run bench -- --help tells more.`)
  process.exitCode = 2
} else {
  if (!installOnDemand(here, "what is measured against")) process.exit(1)
  measure(choice)
}

/** @param {import("./arguments.mjs").Choice} choice */
function measure(choice) {
  const node = join(here, "..", "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")
  if (!existsSync(node)) {
    console.error("The dependencies are missing; npm run bench installs them.")
    process.exit(1)
  }
  const child = spawn(node, ["--expose-gc", join(here, "main.ts"), JSON.stringify(choice)], { stdio: "inherit" })
  // Ctrl-C reaches the child as well; this process only has to outlive it. A signal to this process alone is passed on.
  process.on("SIGINT", () => undefined)
  process.on("SIGTERM", () => child.kill("SIGTERM"))
  child.on("error", (error) => {
    console.error(error.message)
    process.exitCode = 1
  })
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143)
  })
}
