/** The oracle at the command line: what other code would make of the instances that are stored. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, beforeAll, describe, it } from "vitest"
import { detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

const shop = (limit: number, more = "") => `
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const of = { total: Schema.Int, card: State.sensitive(Schema.String) }
const S = State({ Basket: of, Review: of, Paid: of, Rejected: of })
const E = Event({ Order: { total: Schema.Int }, Pay: {}, Reject: {} })
const effects = Slot.Effects({ charge: { amount: Schema.Int } })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Basket })
  .on(S.Basket, E.Order, [S.Review, S.Paid], ({ state, event, effects }) => {
    if (event.total > ${limit}) return S.Review({ total: event.total, card: state.card })
    effects.charge({ amount: event.total })
    return S.Paid({ total: event.total, card: state.card${more} })
  }, { requests: ["charge"] })
  .on(S.Review, E.Pay, S.Paid)
  .on(S.Review, E.Reject, S.Rejected)
  .final(S.Paid, S.Rejected)
  .build({ charge: () => Effect.void })

export default defineConfig({ machines: [Order] })
`

interface Report {
  readonly machine: string
  readonly checked: number
  readonly same: number
  readonly differs: number
  readonly held: number
  readonly unseen: number
  readonly reasons: ReadonlyArray<{ readonly event?: string; readonly summary: string; readonly count: number }>
  readonly findings: ReadonlyArray<unknown>
  readonly flows: ReadonlyArray<{ readonly from: string; readonly to: string; readonly count: number }>
}

let home = ""
let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

const judged = async (code: number, ...args: ReadonlyArray<string>): Promise<Report> => {
  const checked = await detent("machine", "check", "order", "--json", "--workers", "1", ...args)
  assert.strictEqual(checked.code, code, checked.out + checked.err)
  return JSON.parse(checked.out) as Report
}

/** All rows of all tables. */
const contents = () => {
  const database = new DatabaseSync(join(cwd, ".detent/detent.db"), { readOnly: true })
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all()
  const rows = tables.map(({ name }) => [name, database.prepare(`select * from "${String(name)}"`).all()])
  database.close()
  return JSON.stringify(rows)
}

beforeAll(async () => {
  home = await temporaryFolder()
  cwd = join(home, "now")
  await project(cwd, shop(100))
  await project(join(home, "stricter"), shop(40))
  await project(join(home, "reworded"), shop(100).replace("event.total > 100", "!(event.total <= 100)"))
  await project(join(home, "gone"), shop(100).replace("{ Order: {", "{ Place: {").replace("E.Order", "E.Place"))
  for (const [id, total] of [
    ["small", 30],
    ["medium", 60],
    ["large", 200],
  ] as const) {
    await detent("instance", "start", "order", id, "--with", JSON.stringify({ total: 0, card: "4111" }))
    const sent = await detent("instance", "send", `order/${id}`, "Order", "--with", JSON.stringify({ total }))
    assert.strictEqual(sent.code, 0, sent.err)
  }
})

describe("the oracle at the command line", () => {
  it("says that the same code in other words is the same, and writes nothing", async () => {
    const before = contents()
    const report = await judged(0, "--against", "../reworded", "--ended")
    assert.deepInclude(report, { checked: 3, same: 3, differs: 0, held: 0, findings: [] })
    assert.strictEqual(contents(), before)
  })

  it("shows the decisions that differ: states and requested effects, without sensitive values", async () => {
    const report = await judged(6, "--against", "../stricter", "--ended")
    assert.deepInclude(report, { checked: 3, differs: 1, held: 0, unseen: 1 })
    const medium = report.findings.find((one) => JSON.stringify(one).includes('"medium"'))
    assert.deepInclude(medium as object, { id: "medium" })
    const text = JSON.stringify(medium)
    assert.include(text, '{"path":"state","before":"Paid","after":"Review"}')
    assert.include(text, '{"path":"effects.charge","before":{"amount":60}}')
    assert.notInclude(text, "4111")
  })

  it("asks a running instance for what its next event would do", async () => {
    const report = await judged(0, "--against", "../reworded")
    assert.deepInclude(report, { checked: 1, same: 1 })
  })

  it("draws how the past would have ended", async () => {
    const report = await judged(6, "--against", "../stricter", "--what-if", "--svg", "flows.svg")
    const flows = report.flows.map(({ from, to, count }) => `${count} ${from} -> ${to}`)
    assert.sameMembers(flows, ["1 Paid -> Review (running)", "1 Paid -> Paid"])
    const svg = await readFile(join(cwd, "flows.svg"), "utf8")
    assert.match(svg, /^<svg [^>]*xmlns/)
    assert.include(svg, "Review (running)")
  })

  it("says which instances would be held, in words and by the exit code", async () => {
    const checked = await detent("machine", "check", "--against", "../gone")
    assert.strictEqual(checked.code, 1, checked.out)
    assert.match(checked.out, /order +1 +0 +0 +1/)
    assert.include(checked.err, "1 would not open")
  })

  it("refuses a folder without a configuration, and a picture without flows", async () => {
    const nothing = await detent("machine", "check", "--against", home)
    assert.strictEqual(nothing.code, 2, nothing.err)
    assert.include(nothing.err, "has no detent.config.ts")
    const picture = await detent("machine", "check", "--svg", "flows.svg")
    assert.strictEqual(picture.code, 2)
    assert.include(picture.err, "add --what-if")
  })
})

const trip = (second: string) => `
import { workflow } from "@detent/durable/promise"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"
const Trip = workflow({ name: "trip", input: { traveller: Schema.String }, events: { confirmed: Schema.String } }, async (_, durable) => {
  await durable.step("book the flight", async () => "flight")
  await durable.step("${second}", async () => "booked")
  await durable.waitForEvent("confirmed")
})
export default defineConfig({ machines: [], workflows: [Trip] })
`

describe("executions of workflows at the command line", () => {
  it("says which of them would take other steps under the code of another folder", async () => {
    const folder = await temporaryFolder()
    const cwd = join(folder, "now")
    await project(cwd, trip("book a taxi"))
    await project(join(folder, "new"), trip("book the train"))
    const started = await run(["execution", "start", "trip", "--id", "trip-1", "--with", '{"traveller":"Ada"}'], { cwd })
    assert.strictEqual(started.code, 0, started.err)
    assert.strictEqual((await run(["worker", "--until-idle"], { cwd })).code, 0)
    assert.include((await run(["execution", "list", "trip"], { cwd })).out, "Suspended")
    const same = await run(["machine", "check"], { cwd })
    assert.strictEqual(same.code, 0, same.err)
    assert.match(same.out, /workflow\/trip +1 +1 +0 +0/)
    const differs = await run(["machine", "check", "workflow/trip", "--against", "../new", "--workers", "1"], { cwd })
    assert.strictEqual(differs.code, 6, differs.err)
    assert.include(differs.out, "step book a taxi is gone, next: step book the train is new")
  })
})
