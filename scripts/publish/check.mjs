/**
 * Checks packed packages against the rules of a registry: `node scripts/publish/check.mjs FOLDER`, after `npm run pack`. The tools
 * have 63 dependencies, so they are installed in this folder on first use: the demo of a fresh clone does not wait for them.
 */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { installOnDemand } from "../install-on-demand.mjs"
import { environment } from "../run.mjs"

const folder = resolve(process.argv[2] ?? "dist-packages")
const tools = join(import.meta.dirname, "node_modules", ".bin")

if (!installOnDemand(import.meta.dirname, "publint and attw")) process.exit(1)
const tarballs = readdirSync(folder).filter((name) => name.endsWith(".tgz"))
if (tarballs.length === 0) {
  console.error(`${folder} has no packages; npm run pack creates them`)
  process.exit(1)
}
const problems = tarballs.flatMap((name) => {
  const tarball = join(folder, name)
  console.error(`checking ${name}`)
  return [
    ...problemsOf("npm", ["publish", tarball, "--dry-run", "--loglevel=error"]),
    ...problemsOf(join(tools, "publint"), ["run", tarball, "--strict"]),
    // The packages are ES modules only, so CommonJS `require` and resolvers without `exports` are not checked.
    ...problemsOf(join(tools, "attw"), [tarball, "--profile", "esm-only", "--no-color", "--no-emoji"]),
  ]
})
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/**
 * @param {string} command
 * @param {ReadonlyArray<string>} args
 * @returns {ReadonlyArray<string>}
 */
function problemsOf(command, args) {
  const result = spawnSync(command, args, { encoding: "utf8", env: environment, shell: process.platform === "win32" })
  if (result.status === 0) return []
  return [`${[command, ...args].join(" ")}\n${result.error?.message ?? `${result.stdout}${result.stderr}`}`]
}
