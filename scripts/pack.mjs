/**
 * In the repository a package's exports are its TypeScript sources, so that nothing has to be built to run or test them.
 * `npm pack` and `npm publish` call this in the package's folder: `prepare` builds, points the exports at the build and
 * adds the license; `restore` takes that back.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./projects.mjs"
import { run } from "./run.mjs"

const manifest = "package.json"
const kept = "package.json.kept"

const action = process.argv[2]
if (action === "prepare") prepare()
else if (action === "restore") restore()
else throw new Error("usage: node scripts/pack.mjs prepare|restore")

function prepare() {
  // An interrupted pack left the published manifest behind.
  if (existsSync(kept)) restore()
  if (!run("node", ["scripts/build.mjs"])) process.exit(1)
  copyFileSync(join(root, "LICENSE"), "LICENSE")
  const { scripts: _, ...source } = JSON.parse(readFileSync(manifest, "utf8"))
  const published = { ...source, exports: mapValues(source.exports, built) }
  renameSync(manifest, kept)
  writeFileSync(manifest, `${JSON.stringify(published, null, 2)}\n`)
}

function restore() {
  renameSync(kept, manifest)
  rmSync("LICENSE", { force: true })
}

/** @param {string} source */
function built(source) {
  const path = source.replace(/^\.\/(.*)\.ts$/, "./dist/$1")
  return { types: `${path}.d.ts`, default: `${path}.js` }
}

/**
 * @template A, B
 * @param {Record<string, A>} record
 * @param {(value: A) => B} change
 */
function mapValues(record, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
