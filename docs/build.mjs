/**
 * Builds the documentation site into `docs/.vitepress/dist`: installs VitePress on first use, generates the reference pages, builds,
 * and searches the built index for the questions of readers.
 * Without the network once VitePress is installed.
 *
 *     npm run docs                builds
 *     npm run docs -- --serve     serves what is written, and renews pages as their files change
 *     npm run docs -- --base /    builds for another address than /docs/guide/, where `detent serve` has it
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { installOnDemand } from "../scripts/install-on-demand.mjs"
import { generated, pageOf } from "./pages.mjs"
import { searchProblems, servedAt } from "./search.mjs"

const here = import.meta.dirname
const node = join(here, "..", "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")

if (!installOnDemand(here, "the builder of the site")) process.exit(1)
for (const path of Object.keys(generated)) {
  const file = join(here, "..", path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, pageOf(path) ?? "")
}
const { values } = parseArgs({ options: { serve: { type: "boolean", default: false }, base: { type: "string" } } })
const base = values.base === undefined ? [] : ["--base", values.base]
const tool = join(here, "node_modules", "vitepress", "bin", "vitepress.js")
const { status, error } = spawnSync(node, [tool, values.serve ? "dev" : "build", here, ...base], { cwd: here, stdio: "inherit" })
if (error) console.error(error.message)
process.exitCode = status ?? 1
if (status === 0 && !values.serve) {
  const problems = await searchProblems(values.base ?? servedAt)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
