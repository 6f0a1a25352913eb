/**
 * What a registry and the users of a package expect of a tarball. The tools bring 63 packages along, so they are installed in this
 * folder when they are first used: a fresh clone's demo does not wait for them.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { installOnDemand } from "../install-on-demand.mjs"
import { environment } from "../run.mjs"

const tools = join(import.meta.dirname, "node_modules", ".bin")

/**
 * @param {ReadonlyArray<string>} tarballs
 * @returns {ReadonlyArray<string>} the problems
 */
export function checkPublishable(tarballs) {
  if (!installOnDemand(import.meta.dirname, "publint and attw")) return ["the packages could not be checked"]
  return tarballs.flatMap((tarball) => {
    console.error(`checking ${tarball}`)
    return [
      ...problemsOf("npm", ["publish", tarball, "--dry-run", "--loglevel=error"]),
      ...problemsOf(join(tools, "publint"), ["run", tarball, "--strict"]),
      // The packages are ES modules only: what a CommonJS `require` or a resolver from before `exports` sees is not asked.
      ...problemsOf(join(tools, "attw"), [tarball, "--profile", "esm-only", "--no-color", "--no-emoji"]),
    ]
  })
}

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
