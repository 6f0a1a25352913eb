/** Pages of instances that are found by indexed fields, among a million of them, on PostgreSQL and SQLite. */
import { Journal, type JournalService } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { searches } from "../../../packages/store/testing/searches.ts"
import { numbersTo, searchPopulation } from "../../../packages/store/testing/searchPopulation.ts"
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"

const pageSize = 50

/** The median time of a page of each search, in milliseconds. */
const measure = (dialect: "sqlite" | "pg", total: number, rounds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    for (const statement of searchPopulation(numbersTo(total, dialect), dialect)) yield* sql.unsafe(statement)
    yield* sql.unsafe("analyze")
    const journal: JournalService = yield* Journal
    const times = new Map<string, number>()
    for (const [name, filter] of Object.entries(searches)) {
      const taken: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        const began = performance.now()
        yield* journal.search(filter, pageSize)
        taken.push(performance.now() - began)
      }
      times.set(name, median(taken))
    }
    return times
  })

export const search: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const [total, rounds] = quick ? [100_000, 20] : [1_000_000, 50]
    const folder = temporaryFolder()
    const url = await server.createDatabase("search")
    const pg = await Effect.runPromise(Effect.provide(measure("pg", total, rounds), PostgresStore.layer({ url })))
    const sqlite = await Effect.runPromise(
      Effect.provide(measure("sqlite", total, rounds), SqliteStore.layer({ filename: folder.file("search.db") })),
    )
    folder.remove()
    return {
      tables: [
        {
          title: `A page of ${pageSize} instances, found by indexed fields among ${total.toLocaleString("en")}`,
          columns: ["", "PostgreSQL, ms", "SQLite, ms"],
          rows: [...pg].map(([name, millis]) => [name, millis.toFixed(2), (sqlite.get(name) ?? Number.NaN).toFixed(2)]),
          notes: ["Medians. Each search is one call of the store, with all its statements."],
        },
      ],
      figures: quick ? {} : { "search.pageMsAt1M": Math.max(...pg.values()), "search.sqlitePageMsAt1M": Math.max(...sqlite.values()) },
    }
  })
