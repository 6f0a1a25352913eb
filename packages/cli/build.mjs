/**
 * Builds `src/line/table.json`, which has the declarations of all commands for `--help`, completions and parsing. Builds only when a
 * source of the command has changed, or with `--always`.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const home = fileURLToPath(new URL(".", import.meta.url))
const table = `${home}src/line/table.json`
const stamp = fileURLToPath(new URL("../../node_modules/.detent-cli", import.meta.url))

const wanted = fingerprint()
if (process.argv.includes("--always") || !existsSync(table) || !existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
  const { makeTable } = await import("./src/commands.ts")
  write(table, JSON.stringify(await makeTable()))
  write(stamp, wanted)
}

/**
 * Other commands may read the file meanwhile.
 *
 * @param {string} file
 * @param {string} content
 */
function write(file, content) {
  const next = `${file}.${process.pid}`
  writeFileSync(next, content)
  renameSync(next, file)
}

/** Content, not times: a checkout touches files without changing them. */
function fingerprint() {
  const hash = createHash("sha256")
  const names = readdirSync(`${home}src`, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("ts"))
  for (const name of names.sort()) hash.update(`${name}\n`).update(readFileSync(`${home}src/${name}`))
  return hash.digest("hex")
}
