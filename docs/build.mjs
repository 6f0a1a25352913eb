/**
 * Builds the documentation site into `docs/.vitepress/dist`: installs VitePress on first use, generates the reference pages, builds.
 * Without the network once VitePress is installed.
 *
 *     npm run docs                builds
 *     npm run docs -- --serve     serves what is written, and renews pages as their files change
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { installOnDemand } from "../scripts/install-on-demand.mjs"
import { generated, pageOf } from "./pages.mjs"

const here = import.meta.dirname
const node = join(here, "..", "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")

if (!installOnDemand(here, "the builder of the site")) process.exit(1)
for (const path of Object.keys(generated)) {
  const file = join(here, "..", path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, pageOf(path) ?? "")
}
const serves = process.argv.includes("--serve")
const tool = join(here, "node_modules", "vitepress", "bin", "vitepress.js")
const { status, error } = spawnSync(node, [tool, serves ? "dev" : "build", here], { cwd: here, stdio: "inherit" })
if (error) console.error(error.message)
process.exitCode = status ?? 1
