/** A search reads an index in its order, and neither a whole table nor more entries than it may examine. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Journal } from "../src/contract/Journal.ts"
import { mostExamined, mostSorted } from "../src/contract/Search.ts"
import { searches } from "../testing/searches.ts"
import { numbersTo, searchPopulation } from "../testing/searchPopulation.ts"
import { postgresLayer } from "./support/Postgres.ts"
import { readByPostgres, statementsOf } from "./support/queries.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

const total = Number(process.env["DETENT_SEARCHED_INSTANCES"] ?? 30_000)

/** PostgreSQL counts each entry of an index and its row by themselves. The number does not grow with that of the instances. */
const mostRead = 15 * (mostExamined + mostSorted)

const populate = (dialect: "sqlite" | "pg") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of searchPopulation(numbersTo(total, dialect), dialect)) yield* sql.unsafe(statement)
    yield* sql.unsafe("analyze")
  })

const search = (name: string, after?: { readonly id: string; readonly value?: string | number }) =>
  Effect.flatMap(Journal, (journal) => journal.search(searches[name] ?? { machine: "", where: [] }, 50, after))

const selects = (statements: ReadonlySet<string>) => [...statements].filter((statement) => /fields (e|c)\b/.test(statement))

/** The plan that PostgreSQL makes whatever the parameters are. */
const genericPlan = (statement: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const parameters = Array.from(new Set(statement.match(/\$\d+/g)), () => "null").join(", ")
    yield* sql.unsafe("set local plan_cache_mode = force_generic_plan")
    yield* sql.unsafe(`prepare asked as ${statement}`)
    const rows = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`explain execute asked ${parameters === "" ? "" : `(${parameters})`}`)
    yield* sql.unsafe("deallocate asked")
    return rows.map((row) => row["QUERY PLAN"])
  }).pipe((planned) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(planned)))

describe("a search", () => {
  it.live(
    "on PostgreSQL",
    () =>
      Effect.gen(function* () {
        yield* populate("pg")
        for (const name of Object.keys(searches)) {
          const [page, statements] = yield* statementsOf(search(name))
          const next = page.next === undefined ? undefined : search(name, page.next)
          const [, later] = next === undefined ? [undefined, new Set<string>()] : yield* statementsOf(next)
          const [, read] = yield* readByPostgres(search(name))
          assert.isAtMost(read, mostRead, name)
          for (const statement of selects(new Set([...statements, ...later]))) {
            const plan = yield* genericPlan(statement)
            const whole = plan.filter((line) => /Seq Scan on (instances|fields|listing)/.test(line))
            assert.deepStrictEqual(whole, [], `${name}: ${plan.join("\n")}`)
            // Only the few instances of a selective condition are sorted.
            const isOfOrder = !/ as value\b/.test(statement)
            if (isOfOrder)
              assert.deepStrictEqual(
                plan.filter((line) => /\bSort\b/.test(line)),
                [],
                `${name}: ${plan.join("\n")}`,
              )
          }
        }
      }).pipe(Effect.provide(postgresLayer)),
    120_000,
  )

  it.live(
    "on SQLite",
    () =>
      Effect.gen(function* () {
        yield* populate("sqlite")
        const sql = yield* SqlClient
        for (const name of Object.keys(searches)) {
          const [page, statements] = yield* statementsOf(search(name))
          const next = page.next === undefined ? undefined : search(name, page.next)
          const [, later] = next === undefined ? [undefined, new Set<string>()] : yield* statementsOf(next)
          for (const statement of selects(new Set([...statements, ...later]))) {
            const plan = (yield* sql.unsafe<{ readonly detail: string }>(`explain query plan ${statement}`)).map(({ detail }) => detail)
            // The few entries of a selective condition are `e` too.
            const isSelective = plan.some((line) => /^(CO-ROUTINE|MATERIALIZE) e$/.test(line))
            const whole = plan.filter((line) => /^SCAN (e|i|c|detent_\w+)$/.test(line) && !(isSelective && line === "SCAN e"))
            assert.deepStrictEqual(whole, [], `${name}: ${plan.join("\n")}`)
            if (!/ as value\b/.test(statement))
              assert.deepStrictEqual(
                plan.filter((line) => /TEMP B-TREE/.test(line)),
                [],
                `${name}: ${plan.join("\n")}`,
              )
          }
        }
      }).pipe(Effect.provide(sqliteLayer)),
    120_000,
  )

  it.live("ends a page early rather than examine every instance, and continues there", () =>
    Effect.gen(function* () {
      yield* populate("sqlite")
      const page = yield* search("conditions that never meet")
      assert.deepStrictEqual([page.instances.length, page.scanned], [0, mostExamined])
      let pages = 1
      for (let next = page.next; next !== undefined; pages++) next = (yield* search("conditions that never meet", next)).next
      assert.isAtMost(pages, Math.ceil(total / mostExamined) + 1)
    }).pipe(Effect.provide(sqliteLayer)),
  )
})
