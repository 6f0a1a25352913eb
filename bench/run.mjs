/**
 * Starts the benchmarks: reads the command line, installs the peers on first use, and measures in a process of its own on
 * the Node of the workspace. Plain JavaScript, so that any Node from 20 on can start it.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { help, readArguments } from "./arguments.mjs"

const here = fileURLToPath(new URL(".", import.meta.url))
const stamp = join(here, "node_modules", ".detent-peers")

const choice = readArguments(process.argv.slice(2))
if ("help" in choice) console.log(help)
else if ("problem" in choice) {
  console.error(`${choice.problem}\nnpm run bench -- --help tells more.`)
  process.exitCode = 2
} else {
  installPeers()
  measure(choice)
}

function installPeers() {
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint()) return
  // To the error stream: what is printed belongs to the measurements.
  console.error("Installing what is measured against (npm install in bench/)")
  const npm = spawnSync("npm", ["install", "--no-progress", "--loglevel=error"], {
    cwd: here,
    encoding: "utf8",
    shell: process.platform === "win32",
  })
  if (npm.status !== 0) {
    console.error(npm.error?.message ?? `${npm.stdout}${npm.stderr}`)
    console.error("npm install in bench/ failed; the reason is above.")
    process.exit(1)
  }
  writeFileSync(stamp, fingerprint())
}

/** Content, not times: a checkout touches files without changing them. */
function fingerprint() {
  const hash = createHash("sha256")
  for (const manifest of ["package.json", "package-lock.json"]) {
    const path = join(here, manifest)
    if (existsSync(path)) hash.update(`${manifest}\n`).update(readFileSync(path))
  }
  return hash.digest("hex")
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
