/** `npm run soak -- NAME [options]` runs one soak test; without a name, all of them. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../scripts/run.mjs"

const args = process.argv.slice(2)
const [name, ...options] = args
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -".ts".length))

if (args.some((arg) => arg === "--help" || arg === "-h")) {
  console.log(`Long tests: processes that are killed and frozen for minutes, millions of rows, and checks that need other libraries.

  npm run soak -- NAME [options]    one of them
  npm run soak                      all of them, with their default options: several hours
`)
  for (const one of all) console.log(`${one}\n${about(one)}\n`)
} else if (name === undefined) {
  if (!all.map((one) => run("node", [`soak/${one}.ts`])).every(Boolean)) process.exitCode = 1
} else if (!existsSync(join(import.meta.dirname, `${name}.ts`))) {
  console.error(`There is no soak test ${name}; choose one of ${all.join(", ")}. npm run soak -- --help describes them.`)
  process.exitCode = 2
} else if (!run("node", [`soak/${name}.ts`, ...options])) process.exitCode = 1

/**
 * The comment at the beginning of a soak test, which describes it and its options.
 *
 * @param {string} one
 */
function about(one) {
  const [, comment = ""] = /^\/\*\*\n([\s\S]*?)\n \*\//.exec(readFileSync(join(import.meta.dirname, `${one}.ts`), "utf8")) ?? []
  return comment.replaceAll(/^ \* ?/gm, "  ")
}
