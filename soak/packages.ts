/**
 * Packs every package, compiled and checked against the declarations of the packages that it needs, and checks the tarballs with
 * `npm publish --dry-run`, publint and attw. `npm test` packs them without these checks, installs them into a project and uses them
 * there; the checks take about a minute more.
 *
 *     npm run soak -- packages
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../scripts/run.mjs"

const folder = mkdtempSync(join(tmpdir(), "detent-packages-"))
try {
  if (!run("node", ["scripts/pack.mjs", "--check", "--output", folder])) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
