/**
 * Installs the dependencies of a folder's own package.json on first use, and whenever it changes: tools that are too heavy for every
 * `npm install`. Runs on any Node from version 20.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/**
 * @param {string} folder
 * @param {string} purpose completes "Installing ..."
 * @returns {boolean} whether everything is installed
 */
export function installOnDemand(folder, purpose) {
  const stamp = join(folder, "node_modules", ".detent-installed")
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint(folder)) return true
  // On the error stream: standard output belongs to the command.
  console.error(`Installing ${purpose} (npm install in ${folder})`)
  const npm = spawnSync("npm", ["install", "--no-progress", "--loglevel=error"], {
    cwd: folder,
    encoding: "utf8",
    shell: process.platform === "win32",
  })
  if (npm.status === 0) {
    writeFileSync(stamp, fingerprint(folder))
    return true
  }
  console.error(npm.error?.message ?? `${npm.stdout}${npm.stderr}`)
  console.error(`npm install in ${folder} failed; the reason is above.`)
  return false
}

/**
 * Hashes contents, not times, because a checkout touches files without changing them.
 *
 * @param {string} folder
 */
function fingerprint(folder) {
  const hash = createHash("sha256")
  for (const manifest of ["package.json", "package-lock.json"]) {
    const path = join(folder, manifest)
    if (existsSync(path)) hash.update(`${manifest}\n`).update(readFileSync(path))
  }
  return hash.digest("hex")
}
