/** One process of a contest: imports the contestants given as arguments, measures them, and prints nanoseconds per round. */
import { type Contestant, contest, type Timing } from "./Contest.ts"

const [, , module = "", name = "", timing = "{}"] = process.argv
const { [name]: entrants }: Record<string, () => Promise<ReadonlyArray<Contestant<unknown>>>> = await import(module)
if (entrants === undefined) throw new Error(`${module} exports no ${name}`)
const settings: Timing = JSON.parse(timing)
console.log(JSON.stringify(Object.fromEntries(contest(await entrants(), settings))))
