/**
 * Installs the dependencies when they are missing or a manifest has changed since their installation, and builds the console and the table of
 * commands when their sources have changed, so that every npm script works on a bare clone. Runs on any Node from version 20, before anything is installed.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const stamp = join(root, "node_modules", ".detent-setup")

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== fingerprint()) {
  console.log("Installing dependencies (npm install)")
  install()
  // npm install may change package-lock.json, so the fingerprint is computed afterwards.
  writeFileSync(stamp, fingerprint())
}
build("packages/console/build.mjs")
build("packages/cli/build.mjs")

/**
 * Uses the Node that npm installed: the host's may be too old for the build.
 *
 * @param {string} script
 */
function build(script) {
  const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node")
  const built = spawnSync(existsSync(node) ? node : process.execPath, [join(root, script)], { stdio: "inherit" })
  if (built.status !== 0) process.exit(1)
}

function install() {
  const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, PATH: pathOfTheHost() },
    shell: process.platform === "win32",
  })
  if (npm.status === 0) return
  console.error(npm.error?.message ?? `${npm.stdout}${npm.stderr}`)
  console.error("npm install failed; the reason is above.")
  process.exit(1)
}

/** The path without node_modules: the install may replace the Node there, so that Node must not run npm. */
function pathOfTheHost() {
  const folders = (process.env["PATH"] ?? "").split(delimiter)
  return folders.filter((folder) => !folder.includes("node_modules")).join(delimiter)
}

/** Hashes contents, not times, because a checkout touches files without changing them. */
function fingerprint() {
  const workspaces = readdirSync(join(root, "packages")).map((name) => `packages/${name}/package.json`)
  const manifests = ["package.json", "package-lock.json", ".npmrc", "examples/package.json", ...workspaces.sort()]
  const hash = createHash("sha256")
  for (const manifest of manifests) {
    const path = join(root, manifest)
    if (existsSync(path)) hash.update(`${manifest}\n`).update(readFileSync(path))
  }
  return hash.digest("hex")
}
