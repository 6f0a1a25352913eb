/** `npm run soak -- NAME [options]` runs one soak test; without a name, all of them. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../scripts/run.mjs"

const [name, ...options] = process.argv.slice(2)
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -".ts".length))
const isNamed = name !== undefined && !name.startsWith("-")
if (isNamed && !existsSync(join(import.meta.dirname, `${name}.ts`))) {
  console.error(`there is no soak test ${name}; choose one of ${all.join(", ")}`)
  process.exit(2)
}
const succeeded = isNamed
  ? run("node", [`soak/${name}.ts`, ...options])
  : all.map((one) => run("node", [`soak/${one}.ts`, ...process.argv.slice(2)])).every(Boolean)
if (!succeeded) process.exitCode = 1
