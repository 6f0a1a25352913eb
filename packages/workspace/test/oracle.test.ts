/** The oracle from code: in worker processes where a file has the code, in this process where none has. It writes nothing. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Engine } from "@detent/durable"
import { Event, Machine, State } from "@detent/machine"
import { loadConfig } from "@detent/workspace/Config"
import { checkDeploy } from "@detent/workspace/checkDeploy"
import { check } from "@detent/workspace/operations/oracle"
import { Workspace } from "@detent/workspace/Workspace"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { folder as temporaryFolder } from "./support/folder.ts"

const source = (limit: number) => `
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"
const S = State({ Open: { total: Schema.Int }, Small: { total: Schema.Int }, Large: { total: Schema.Int } })
const E = Event({ Close: { total: Schema.Int } })
const Deal = Machine.make({ name: "deal", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Close, [S.Small, S.Large], ({ event }) => event.total > ${limit} ? S.Large({ total: event.total }) : S.Small({ total: event.total }))
  .final(S.Small, S.Large)
export default defineConfig({ machines: [Deal] })
`

const S = State({ Open: { total: Schema.Int }, Small: { total: Schema.Int }, Large: { total: Schema.Int } })
const E = Event({ Close: { total: Schema.Int } })
const dealOf = (limit: number) =>
  Machine.make({ name: "deal", state: S, event: E, initial: S.Open })
    .on(S.Open, E.Close, [S.Small, S.Large], ({ event }) =>
      event.total > limit ? S.Large({ total: event.total }) : S.Small({ total: event.total }),
    )
    .final(S.Small, S.Large)

const project = (folder: string, limit: number): string => {
  mkdirSync(folder, { recursive: true })
  symlinkSync(join(import.meta.dirname, "../../../node_modules"), join(folder, "node_modules"))
  const file = join(folder, "detent.config.ts")
  writeFileSync(file, source(limit))
  return file
}

const contentsOf = (file: string): string => {
  const database = new DatabaseSync(file, { readOnly: true })
  const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all()
  const rows = tables.map(({ name }) => [name, database.prepare(`select * from "${String(name)}"`).all()])
  database.close()
  return JSON.stringify(rows)
}

describe("the oracle from code", () => {
  it.live("judges in worker processes, from Effect and from async code, and the database stays as it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [now, next] = [project(join(folder, "now"), 100), project(join(folder, "next"), 50)]
      const data = join(folder, "data")
      const config = yield* loadConfig(now)
      yield* Effect.provide(
        Effect.flatMap(Engine, (engine) =>
          Effect.forEach([10, 70, 500], (total) =>
            Effect.flatMap(engine.start(dealOf(100), `deal-${total}`, S.Open({ total: 0 })), (deal) => deal.send(E.Close({ total }))),
          ),
        ),
        Workspace.open({ data, role: "work", config: { machines: [dealOf(100)] } }),
      )
      const before = contentsOf(join(data, "detent.db"))
      const seen: Array<number> = []
      const request = { against: next, whatIf: true, workers: 1 }
      const [report] = yield* Effect.provide(
        check({ ...request, onProgress: ({ judged, total }) => Effect.sync(() => seen.push(judged, total)) }),
        Workspace.open({ data, role: "observe", config }),
      )
      assert.deepInclude(report, { machine: "deal", checked: 3, same: 2, differs: 1, held: 0 })
      assert.deepStrictEqual(report?.flows.map(({ from, to }) => `${from} -> ${to}`).sort(), [
        "Large -> Large",
        "Small -> Large",
        "Small -> Small",
      ])
      assert.deepStrictEqual(seen, [3, 3])
      const [again] = yield* Effect.promise(() => checkDeploy({ ...request, data, project: join(folder, "now") }))
      assert.deepStrictEqual(again, report)
      assert.strictEqual(contentsOf(join(data, "detent.db")), before)
    }),
  )

  it.live("judges in this process by definitions that no file has", () =>
    Effect.gen(function* () {
      const data = join(yield* temporaryFolder, "data")
      const judged = Effect.gen(function* () {
        const engine = yield* Engine
        const deal = yield* engine.start(dealOf(100), "deal-1", S.Open({ total: 0 }))
        yield* deal.send(E.Close({ total: 70 }))
        return yield* check({ ended: {} })
      })
      const [report] = yield* Effect.provide(judged, Workspace.open({ data, role: "work", config: { machines: [dealOf(100)] } }))
      assert.deepInclude(report, { machine: "deal", checked: 1, ended: 1, same: 1 })
    }),
  )
})
