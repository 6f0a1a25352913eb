import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { checkDeploy } from "@detent/workspace/checkDeploy"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const folder = mkdtempSync(join(tmpdir(), "detent-oracle-"))
const data = join(folder, "data")

const S = State({ Open: {}, Small: { total: Schema.Int }, Large: { total: Schema.Int } })
const E = Event({ Close: { total: Schema.Int } })
const Deal = Machine.make({ name: "deal", state: S, event: E, initial: S.Open() })
  .on(S.Open, E.Close, [S.Small, S.Large], ({ event: { total } }) => (total > 100 ? S.Large({ total }) : S.Small({ total })))
  .final(S.Small, S.Large)

const program = Effect.gen(function* () {
  const engine = yield* Engine
  for (const total of [10, 70, 500]) {
    const deal = yield* engine.start(Deal, `deal-${total}`)
    yield* deal.send(E.Close({ total }))
  }
})

await Effect.runPromise(Effect.provide(program, Workspace.open({ data, role: "work", config: { machines: [Deal] } })))

/** The new code: the limit is 50. */
writeFileSync(
  join(folder, "detent.config.ts"),
  `
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"
const S = State({ Open: {}, Small: { total: Schema.Int }, Large: { total: Schema.Int } })
const E = Event({ Close: { total: Schema.Int } })
const Deal = Machine.make({ name: "deal", state: S, event: E, initial: S.Open() })
  .on(S.Open, E.Close, [S.Small, S.Large], ({ event: { total } }) => (total > 50 ? S.Large({ total }) : S.Small({ total })))
  .final(S.Small, S.Large)
export default defineConfig({ machines: [Deal] })
`,
)
symlinkSync(resolve("node_modules"), join(folder, "node_modules"))

// #region async
const reports = await checkDeploy({ data, against: folder, whatIf: true, workers: 2 })
for (const { machine, checked, same, flows } of reports) {
  console.log(`${machine}: ${same} of ${checked} the same`)
  for (const { from, to, count } of flows) if (from !== to) console.log(`${count} would have ended as ${to} instead of ${from}`)
}
// #endregion async
