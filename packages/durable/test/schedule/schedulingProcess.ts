/** A process that starts instances at the times of many schedules, until it is killed. */
import { flushCompileCache } from "node:module"
import { type DatabaseAddress, openEngine } from "../../src/promise.ts"
import { Started, secondly } from "./secondly.ts"

// A killed process does not write its cache of compiled modules, so this one does it before.
flushCompileCache()

const [database] = process.argv.slice(2) as [DatabaseAddress]

await openEngine({ database, machines: [Started], schedules: secondly, lease: "2 seconds" })
process.send?.("open")
