/** Journals are read in bulk on both databases, in ranges and pages, and no statement of the reader can write. */
import { Journal } from "@detent/store"
import { readerIn } from "@detent/store/Database"
import { type JournalPage, JournalReader } from "@detent/store/internal"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { turnsDuring } from "../../../store/test/support/turns.ts"
import { readerOf } from "../../src/oracle/readerOf.ts"
import { commitsOf, judged, scriptsOf } from "./experiment.ts"
import { make, specimens } from "./machines.ts"

const databases = {
  SQLite: Effect.map(freshFile, (file) => ({ store: SqliteStore.layer({ filename: file }), place: { _tag: "Sqlite", file } as const })),
  PostgreSQL: Effect.map(freshDatabase, (url) => ({
    store: PostgresStore.layer({ url }),
    place: { _tag: "Postgres", url: Redacted.make(url) } as const,
  })),
}

const text = specimens.get("order") ?? ""

describe("reading journals in bulk", () => {
  for (const [name, opening] of Object.entries(databases))
    it.live(`${name}: ranges and pages have every journal once, as the open store has them`, () =>
      Effect.gen(function* () {
        const { store, place } = yield* opening
        const specimen = make(text)
        const commits = commitsOf(specimen, scriptsOf(specimen, 700))
        const selection = { machine: "order", unended: true, ended: {} }
        yield* Effect.gen(function* () {
          const journal = yield* Journal
          yield* journal.commit(commits)
          const reading = Effect.flatMap(JournalReader, (reader) =>
            Effect.gen(function* () {
              const { count, ranges } = yield* reader.divide(selection, 300)
              assert.deepStrictEqual([count, ranges.length], [700, 3])
              const pages = yield* Effect.forEach(ranges, (range) => reader.page(selection, range, 1000))
              const read = pages.flatMap(({ journals }) => journals)
              assert.deepStrictEqual(
                read.map(({ record }) => record.id),
                commits.map(({ id }) => id),
              )
              assert.deepStrictEqual(
                read.map(({ events }) => events?.map(({ body }) => body)),
                commits.map(({ events }) => events.map(({ body }) => body)),
              )
              const id = commits[7]?.id ?? ""
              const opened = yield* Effect.forEach([reader, readerOf(journal)], (one) => one.open({ machine: "order", id }))
              assert.deepStrictEqual(
                opened.map((one) => one?.record),
                [read[7]?.record, read[7]?.record],
              )
              assert.isUndefined(yield* reader.open({ machine: "order", id: "none" }))
              const ended = yield* reader.divide({ ...selection, unended: false }, 300)
              assert.strictEqual(ended.count, commits.filter(({ summary }) => summary.status === "final").length)
              const { same, checked } = yield* judged(reader, specimen.machine, specimen.machine)
              assert.deepStrictEqual([same, checked], [700, 700])
            }),
          )
          yield* Effect.provide(reading, readerIn(place))
          const open = readerOf(journal)
          assert.strictEqual((yield* open.divide(selection, 300)).count, 700)
          assert.strictEqual((yield* judged(open, specimen.machine, specimen.machine)).same, 700)
        }).pipe(Effect.provide(store))
      }),
    )

  for (const [name, opening] of Object.entries(databases))
    it.live(`${name}: a page of large events ends early, and gives other work of the process its turns`, () =>
      Effect.gen(function* () {
        const { store, place } = yield* opening
        const specimen = make(text)
        const body = JSON.stringify("x".repeat(1_000_000))
        const commits = commitsOf(specimen, scriptsOf(specimen, 60)).map((commit) => ({
          ...commit,
          events: commit.events.slice(0, 1).map((event) => ({ ...event, body })),
          sequence: Math.min(commit.sequence, 1),
        }))
        yield* Effect.gen(function* () {
          yield* (yield* Journal).commit(commits)
          const reader = yield* Effect.map(Layer.build(readerIn(place)), (context) => Context.get(context, JournalReader))
          const selection = { machine: "order", unended: true, ended: {} }
          const first = yield* turnsDuring(reader.page(selection, {}, 500))
          const { journals, next } = first.value
          assert.isAbove(first.turns, 20)
          assert.isBelow(journals.length, 40)
          assert.strictEqual(next, journals.at(-1)?.record.id)
          const ids = journals.map(({ record }) => record.id)
          for (let after = next; after !== undefined; ) {
            const page: JournalPage = yield* reader.page(selection, { after }, 500)
            ids.push(...page.journals.map(({ record }) => record.id))
            after = page.next
          }
          assert.deepStrictEqual(ids, commits.map(({ id }) => id).sort())
        }).pipe(Effect.scoped, Effect.provide(store))
      }),
    )
})
