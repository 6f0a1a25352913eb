/**
 * W3C's test suite of SHACL, which is not part of the project. The package shacl-engine contains it; npm loads the package on first use, into
 * node_modules. Its dependencies are several hundred packages, which no test needs, so it is not a dependency.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"

const version = "1.1.2"
const sha512 = "ypclUwHJ6KPYUZb8ggslN7BSOwza9vgIwQgLY0oey0Xbzla6B7cRWroeDvfkntYzU1HnERgGvC/qsKge3a6s1Q=="

const cache = join(import.meta.dirname, "../../../../node_modules/.cache/detent-shacl-suite")

const load = (folder: string) => {
  mkdirSync(dirname(folder), { recursive: true })
  const next = mkdtempSync(`${folder}-next-`)
  try {
    const isWindows = process.platform === "win32"
    execFileSync("npm", ["pack", `shacl-engine@${version}`, "--silent", "--pack-destination", next], { stdio: "pipe", shell: isWindows })
    const archive = `shacl-engine-${version}.tgz`
    const found = createHash("sha512")
      .update(readFileSync(join(next, archive)))
      .digest("base64")
    if (found !== sha512) throw new Error(`shacl-engine ${version} has the SHA-512 ${found}`)
    execFileSync("tar", ["-xzf", archive], { cwd: next, stdio: "pipe" })
    // Another run may have loaded it meanwhile.
    if (!existsSync(folder)) renameSync(join(next, "package", "test", "assets", "data-shapes"), folder)
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}

/** The folder of the suite, or why it could not be loaded. */
export const shaclSuite = (): { readonly folder: string } | { readonly problem: string } => {
  const folder = join(cache, version)
  try {
    if (!existsSync(folder)) load(folder)
    return { folder }
  } catch (error) {
    return {
      problem: `W3C's test suite of SHACL could not be loaded from npm: ${error instanceof Error ? error.message.trim() : String(error)}`,
    }
  }
}
