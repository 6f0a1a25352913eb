/**
 * Checks the programs of the migration pages. Installs the libraries of Temporal, DBOS and BullMQ on first use, type-checks their programs, and
 * runs the program of DBOS and ours on one PostgreSQL: both must print the same. The programs of Temporal and BullMQ need a server of their own, so
 * they are only type-checked. `npm test` runs our half of each.
 *
 *     npm run soak -- migration
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { withPostgres } from "../bench/measure/Postgres.ts"
import { installOnDemand } from "../scripts/install-on-demand.mjs"
import { run } from "../scripts/run.mjs"

const programs = join(import.meta.dirname, "..", "docs", "migration", "programs")
const execute = promisify(execFile)

if (!installOnDemand(programs, "the libraries to compare with")) process.exit(1)
const areTyped = run("tsc", ["--noEmit", "-p", programs])
console.log(areTyped ? "the programs of Temporal, DBOS and BullMQ pass the type check" : "a program does not pass the type check")

const printedOn = async (database: string, program: string): Promise<string> => {
  const { stdout } = await execute(process.execPath, [join(programs, program)], { env: { ...process.env, DATABASE_URL: database } })
  return stdout.trim()
}
const [theirs, ours] = await withPostgres(async (server) => [
  await printedOn(await server.createDatabase("dbos"), "dbos-workflow.mts"),
  await printedOn(await server.createDatabase("detent"), "dbos-to-detent.ts"),
])
console.log(`DBOS prints:   ${theirs}\nDetent prints: ${ours}`)
if (!areTyped || theirs !== ours || ours === "") process.exitCode = 1
