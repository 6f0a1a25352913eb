/** The statements that store commits find rows by index, also where PostgreSQL plans them while the tables are empty: it keeps such plans. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Commit, EventRecord } from "../src/contract/Commit.ts"
import { makeShapes } from "../src/postgres/commit.ts"
import { commit, event } from "../testing/samples.ts"
import { postgresLayer } from "./support/Postgres.ts"

const key = (id: number) => ({ machine: "m", id: `i-${id}` })

const batch = (size: number, fieldsOf: (id: number) => Partial<Commit> = () => ({})) =>
  Array.from({ length: size }, (_, id) => [id, commit(key(id), 0, { at: event(1).at, startedAt: 1, ...fieldsOf(id) })] as const)

const sent = (sequence: number): EventRecord => event(sequence, { dedupeId: `sent-${sequence}` })

const fence = { lease: "node", token: 1 }

/** A batch for each shape. */
const batches: Readonly<Record<string, ReadonlyArray<readonly [number, Commit]>>> = {
  one: batch(1),
  plain: batch(2),
  uniform: batch(20),
  timed: batch(2, (id) => ({ clearTimers: [`t-${id}`] })),
  alike: batch(2, () => ({ clearTimers: ["t"] })),
  events: batch(2, () => ({ sequence: 2, events: [sent(1), sent(2)] })),
  full: batch(2, () => ({ expected: -1, sequence: 0, events: [], origin: "{}" })),
}

it.live("the plans of all shapes of commits read no table of instances or events whole", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const shapeFor = makeShapes("detent")
    const all = Object.entries(batches).flatMap(([name, ordered]) =>
      [undefined, fence].map((fence) => {
        const fenced = ordered.map(([position, one]) => ({ position, commit: fence === undefined ? one : { ...one, fence } }))
        return [`${name}${fence === undefined ? "" : ", fenced"}`, shapeFor(fenced).statement] as const
      }),
    )
    // The full shape is the same with and without a fence.
    assert.strictEqual(new Set(all.map(([, statement]) => statement)).size, all.length - 1)
    for (const [name, statement] of all) {
      const parameters = Array.from(new Set(statement.match(/\$\d+/g)), () => null)
      const plan = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`explain (generic_plan) ${statement}`, parameters)
      const scans = plan.map((row) => row["QUERY PLAN"]).filter((line) => /Seq Scan on (instances|events|snapshots|commands)/.test(line))
      assert.deepStrictEqual(scans, [], name)
    }
  }).pipe(Effect.provide(postgresLayer)),
)
