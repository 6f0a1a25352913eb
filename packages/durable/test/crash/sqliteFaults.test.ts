/** A disk without room. */
import { Engine } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import * as SqliteStore from "@detent/store/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { judge } from "../simulation/Audit.ts"
import { driven } from "../simulation/Machines.ts"
import { readTables } from "./Tables.ts"

describe("a disk that is full", () => {
  it.live("is a clear failure: nothing is half written, and work continues when there is room", () =>
    Effect.gen(function* () {
      const filename = yield* freshFile
      const store = SqliteStore.layer({ filename })
      const context = yield* Layer.build(Engine.layer({ storeTimeout: "200 millis" }).pipe(Layer.provideMerge(store)))
      const engine = Context.get(context, Engine)
      const sql = Context.get(context, SqlClient)
      const { machine } = driven("counter")
      const accepted: Array<string> = []
      const failures: Array<PersistenceFailed> = []
      const send = (token: string, id: string) =>
        Effect.flatMap(engine.ensure(machine, id), (instance) => instance.call({ _tag: "Add", token, by: 1 } as never, { id: token })).pipe(
          Effect.tap(() => Effect.sync(() => accepted.push(token))),
          Effect.catchTag("PersistenceFailed", (error) => Effect.sync(() => failures.push(error))),
        )
      yield* send("first", "i-0")

      const [pages] = yield* sql<{ readonly page_count: number }>`pragma page_count`
      yield* sql.unsafe(`pragma max_page_count = ${(pages?.page_count ?? 0) + 4}`)
      for (let round = 0; failures.length === 0; round++) {
        const tokens = Array.from({ length: 20 }, (_, index) => `r${round}-${index}-${"x".repeat(300)}`)
        yield* Effect.forEach(tokens, (token, index) => send(token, `i-${index % 4}`), { concurrency: "unbounded" })
      }
      expect(failures[0]?.message).toMatch(/full/)
      const full = yield* Effect.promise(() => readTables({ _tag: "Sqlite", filename }))
      expect([...full.problems, ...full.instances.flatMap((stored) => judge(machine, stored).problems)]).toEqual([])

      yield* sql.unsafe("pragma max_page_count = 1000000")
      for (const token of ["after-1", "after-2"]) yield* send(token, "i-0")
      const { problems, instances } = yield* Effect.promise(() => readTables({ _tag: "Sqlite", filename }))
      const judged = instances.map((stored) => judge(machine, stored))
      expect([...problems, ...judged.flatMap((one) => one.problems)]).toEqual([])
      // All that was accepted is there, and nothing that was refused.
      expect(judged.flatMap(({ tokens }) => [...tokens.keys()]).sort()).toEqual([...accepted].sort())
      expect(accepted).toContain("after-2")
    }),
  )
})
