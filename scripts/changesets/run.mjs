/**
 * Release notes from the files in `.changeset`: installs the tool on first use, and runs it at the root of the repository.
 *
 *     npm run changeset                  asks for the change and writes a file
 *     npm run changeset -- status        lists the changes of the next release
 *     npm run changeset -- version       writes versions and changelogs, and removes the files
 */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { installOnDemand } from "../install-on-demand.mjs"
import { root } from "../projects.mjs"

if (!installOnDemand(import.meta.dirname, "the tool for release notes")) process.exit(1)
const manifest = createRequire(import.meta.url).resolve("@changesets/cli/package.json")
const { status, error } = spawnSync(process.execPath, [join(dirname(manifest), "bin.js"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
})
if (error) console.error(error.message)
process.exitCode = status ?? 1
