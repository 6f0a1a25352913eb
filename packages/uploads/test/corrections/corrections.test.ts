/** Failed items as a file, the corrected file, and the retry of all of them. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { workbook } from "../../../tables/test/support/workbook.ts"
import { defineUpload, type FailureFormat, Uploads } from "../../src/index.ts"
import { entriesPage } from "../../src/store/Entries.ts"
import { UploadStore } from "../../src/store/UploadStore.ts"
import { databases } from "../support/Databases.ts"
import { makeDesk } from "../support/Desk.ts"

const Orders = defineUpload({
  name: "Orders",
  schema: Schema.Struct({
    no: Schema.String,
    amount: Schema.Finite,
    tags: Schema.optionalKey(Schema.Array(Schema.String)),
    address: Schema.optionalKey(Schema.Struct({ city: Schema.String })),
    note: Schema.optionalKey(Schema.NullOr(Schema.String)),
  }),
  id: "no",
  check: ({ amount }) => (amount < 0 ? "its amount is below 0" : undefined),
})

const options = { uploads: [Orders] }

const Odd = defineUpload({
  name: "Odd",
  schema: Schema.Struct({ no: Schema.String, amount: Schema.Finite, "=1+1": Schema.String, "@x": Schema.String }),
  id: "no",
})

const failuresText = (batchId: string, format: FailureFormat) =>
  Effect.gen(function* () {
    const { text, fileName } = yield* (yield* Uploads).failures(batchId, { format })
    return { fileName, text: yield* Stream.mkString(text) }
  })

const partial = (path: string) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    const { batchId } = yield* uploads.start(path)
    yield* uploads.finished(batchId)
    return batchId
  })

const retried = (batchId: string) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    yield* uploads.retryFailed(batchId)
    const { state, items } = yield* uploads.finished(batchId)
    return [state, items.stored, items.failed]
  })

const orderOf = (id: string) =>
  Effect.map(
    Effect.flatMap(Uploads, (uploads) => uploads.of(Orders).item(id)),
    (found) => found,
  )

describe.each(databases)("$name", (database) => {
  it.effect("a file that is of another upload, or that cannot be read to its end, corrects nothing", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const [first, second] = [desk.file("first.csv", "no;amount\na;x\nb;1\n"), desk.file("second.csv", "no;amount\nc;y\nd;1\n")]
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const [one, other] = [yield* partial(first), yield* partial(second)]
          const fixed = (yield* failuresText(one, "csv")).text.replace("a;x", "a;5")
          const crossed = yield* uploads.correctFrom(other, desk.file("crossed.csv", fixed))
          expect(crossed).toMatchObject({ corrected: 0, refused: 1, refusals: [{ item: 0, refusal: "other_item" }] })
          const lines = (yield* failuresText(one, "jsonl")).text.replace('"x"', "5")
          const ofLines = yield* uploads.correctFrom(other, desk.file("crossed.jsonl", lines))
          expect(ofLines).toMatchObject({ corrected: 0, refused: 1, refusals: [{ item: 0, refusal: "other_item" }] })
          const damaged = Buffer.concat([Buffer.from(fixed), Buffer.from("7;".repeat(20_000)), Buffer.from([0xff, 0xfe, 0xc3, 0x0a])])
          const refused = yield* Effect.flip(uploads.correctFrom(one, desk.file("damaged.csv", damaged), { given: { encoding: "utf-8" } }))
          expect(refused._tag).not.toBe("PersistenceFailed")
          expect(yield* uploads.correctFrom(one, desk.file("fixed.csv", fixed))).toMatchObject({ corrected: 1, refused: 0 })
        }),
        options,
      )
    }),
  )

  it.effect("names of columns that a spreadsheet would run are marked as texts, and come back as they were", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("odd.csv", "no;amount;=1+1;@x\na;x;1;2\nb;1;1;2\n")
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const batchId = yield* partial(path)
          const { text } = yield* failuresText(batchId, "csv")
          expect(text.split("\n")[0]).toContain(";no;amount;'=1+1;'@x")
          expect(yield* uploads.correctFrom(batchId, desk.file("fixed.csv", text.replace("a;x", "a;5")))).toMatchObject({
            corrected: 1,
            refused: 0,
          })
        }),
        { uploads: [Odd] },
      )
    }),
  )

  it.effect("rows of a table that failed come back corrected: cells that are unchanged stay, and other rows are reported", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const csv =
        'no;amount;address.city;note\na;1;Köln;\nb;x;Bonn;=1+1\nc;3;Ulm;"with ""quotes"", and; more"\nd;four;Ems;\n;5;Hof;no id\ng;7\n'
      const path = desk.file("orders.csv", csv)
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const batchId = yield* partial(path)
          const { fileName, text } = yield* failuresText(batchId, "csv")
          expect(fileName).toBe("orders.failures.csv")
          expect(text).toMatch(
            /^\ufeffdetent:item;detent:line;detent:id;detent:reason;detent:problem;no;amount;address\.city;note\n1;3;b;invalid_field;/,
          )
          const lines = text.split("\n").slice(1, -1)
          expect(lines.map((line) => [line.split(";", 4).join(";"), line.slice(line.search(/;[^;]*;[^;]*;[^;]*;[^;]*$/))])).toEqual([
            ["1;3;b;invalid_field", ";b;x;Bonn;'=1+1"],
            ["3;5;d;invalid_field", ";d;four;Ems;"],
            ["4;6;;missing_id", ";;5;Hof;no id"],
            ["5;7;;bad_row", ";g;7;;"],
          ])
          const fixed = text.replace("b;x;Bonn", "b;2.5;Bonn").replace("g;7;;", "g;7;Hof;").replace(";;5;Hof", ";a;5;Hof")
          const report = yield* uploads.correctFrom(
            batchId,
            desk.file("fixed.csv", `${fixed}17;1;;;;q;1;X;\n0;1;;;;a;9;X;\n1;3;;;;b;3;X;\nx;;;;;y;1;X;\n`),
          )
          expect(report).toMatchObject({ rows: 8, corrected: 2, unchanged: 1, refused: 5 })
          expect(report.refusals.map(({ line, item, refusal }) => [line, item, refusal])).toEqual([
            [4, 4, "still_invalid"],
            [6, 17, "no_such_item"],
            [7, 0, "stored"],
            [8, 1, "repeated"],
            [9, undefined, "bad_row"],
          ])
          expect(report.refusals[0]?.message).toBe("item 4 would fail again (duplicate): item 0 of the batch has the same id a")
          // The same file again changes nothing.
          expect(yield* uploads.correctFrom(batchId, desk.file("again.csv", fixed))).toMatchObject({
            corrected: 0,
            unchanged: 3,
            refused: 1,
          })
          expect(yield* retried(batchId)).toEqual(["partially_completed", 4, 2])
          expect(yield* orderOf("b")).toMatchObject({ value: { item: { no: "b", amount: 2.5, address: { city: "Bonn" }, note: "=1+1" } } })
          // Only the columns that change, from a sheet.
          const sheet = workbook([
            {
              name: "Fixed",
              rows: [
                ["detent:item", "no", "amount"],
                [3, "d", 4],
                [4, "e", 5],
                [1, "b", 9],
              ],
            },
          ])
          const second = yield* uploads.correctFrom(batchId, desk.file("fixed.xlsx", sheet))
          expect(second).toMatchObject({ rows: 3, corrected: 2, refused: 1 })
          expect(second.refusals[0]).toMatchObject({ item: 1, refusal: "stored" })
          expect(yield* retried(batchId)).toEqual(["completed", 6, 0])
          expect(yield* orderOf("e")).toMatchObject({ value: { item: { no: "e", amount: 5, address: { city: "Hof" }, note: "no id" } } })
          expect(yield* Effect.flip(uploads.correctFrom(batchId, desk.file("late.csv", fixed)))).toMatchObject({ _tag: "NothingToCorrect" })
        }),
        options,
      )
    }),
  )

  it.effect("items of JSON come back as a table or as lines of JSON, and keep what no table can show", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file(
        "orders.jsonl",
        [
          '{"no":"a","amount":"1","tags":["x","y"],"address":{"city":""},"note":null}',
          '{"no":"b","amount":-2,"tags":[]}',
          '{"no":"c", amount: 3}',
          '{"no":"d","amount":4}',
        ].join("\n"),
      )
      yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const batchId = yield* partial(path)
          const { text } = yield* failuresText(batchId, "csv")
          expect(text.split("\n").map((line) => line.split(",").slice(5).join(","))).toEqual([
            "no,amount,tags,address.city,note,detent:source",
            'a,1,"[""x"",""y""]",,,',
            "b,-2,[],,,",
            ',,,,,"{""no"":""c"", amount: 3}"',
            "",
          ])
          const wrong = desk.file("wrong.csv", text.replace("detent:item", "item"))
          expect((yield* Effect.flip(uploads.correctFrom(batchId, wrong))).message).toContain("it has no column detent:item")
          const fixed = desk.file("fixed.csv", 'detent:item,no,amount,tags\n0,a,2,"[""x"",""y""]"\n1,b,2,"[""new""]"\n2,c,3,\n')
          expect(yield* uploads.correctFrom(batchId, fixed)).toMatchObject({ rows: 3, corrected: 3, refused: 0 })
          const lines = (yield* failuresText(batchId, "jsonl")).text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
          expect(lines.map(({ item, content }) => [item, content])).toEqual([
            [0, { no: "a", amount: 2, tags: ["x", "y"], address: { city: "" }, note: null }],
            [1, { no: "b", amount: 2, tags: ["new"] }],
            [2, { no: "c", amount: 3 }],
          ])
          const given = [
            { item: 0, content: { no: "a", amount: 2, unknown: 1 } },
            { item: 1, cells: { amount: "3" } },
            { item: 2, content: [] },
          ]
          const report = yield* uploads.correctFrom(batchId, desk.file("fixed.jsonl", given.map((one) => JSON.stringify(one)).join("\n")))
          expect(report).toMatchObject({ corrected: 1, refused: 2 })
          expect(report.refusals.map(({ line, refusal }) => [line, refusal])).toEqual([
            [1, "still_invalid"],
            [3, "bad_row"],
          ])
          expect(yield* retried(batchId)).toEqual(["completed", 4, 0])
          expect(yield* orderOf("b")).toMatchObject({ value: { item: { no: "b", amount: 3, tags: ["new"] } } })
        }),
        options,
      )
    }),
  )

  it.effect("a file of corrections is refused with the next step where its columns do not fit or no retry would use it", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      const path = desk.file("orders.csv", "no,amount\na,1\nb,x\n")
      const cancelled = yield* desk.run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          const batchId = yield* partial(path)
          const refusal = (name: string, content: string) => Effect.flip(uploads.correctFrom(batchId, desk.file(name, content)))
          expect((yield* refusal("other.csv", "detent:item,amuont\n1,2\n")).message).toBe(
            `other.csv: its column "amuont" is not in the uploaded file; use the columns of the file of failures: no, amount`,
          )
          expect((yield* refusal("empty.csv", "")).message).toContain("it is empty")
          expect((yield* Effect.flip(uploads.correctFrom(batchId, "/nowhere/fixed.csv")))._tag).toBe("FileUnreadable")
          expect((yield* Effect.flip(uploads.correctFrom("no-batch", path)))._tag).toBe("BatchNotFound")
          // A cancelled upload can be retried, so that it takes corrections, for 24 hours.
          yield* uploads.cancel(batchId)
          const fixed = "detent:item,amount\n1,2\n"
          expect(yield* uploads.correctFrom(batchId, desk.file("fixed.csv", fixed))).toMatchObject({ corrected: 1 })
          return batchId
        }),
        options,
      )
      yield* TestClock.adjust("25 hours")
      yield* desk.run(
        Effect.gen(function* () {
          const bytes = Stream.make(Buffer.from("detent:item,amount\n1,2\n"))
          const late = yield* Effect.flip((yield* Uploads).receiveCorrections(cancelled, bytes, { fileName: "late.csv" }))
          expect(late.message).toContain(
            "the corrections of late.csv would never be used; upload the corrected items in a file of their own",
          )
        }),
        options,
      )
    }),
  )

  it.effect("a page of failed items, also of one reason, is read by an index", () =>
    Effect.gen(function* () {
      const desk = yield* makeDesk(database)
      yield* desk.run(
        Effect.gen(function* () {
          const store = yield* UploadStore.open("detent")
          const { sql, entries, rows } = store.dialect
          const many = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => [index]))
          yield* sql`
            insert into ${entries} (batch, item_index, state, line, byte_offset, attempts, reason, message)
            select 1, cast(value ->> 0 as bigint), 'failed', 1, 1, 1,
              case when cast(value ->> 0 as bigint) % 5000 = 0 then 'rare' else 'missing_id' end, 'it has no id'
            from ${rows(many)}`
          if (database.name === "PostgreSQL") yield* sql`analyze`
          const filters = [{ state: "failed" }, { state: "failed", reason: "rare" }, { reason: "rare" }] as const
          for (const filter of filters) {
            const page = entriesPage(store, 1, { ...filter, after: 15_000, limit: 100 })
            const plan = JSON.stringify(yield* database.name === "SQLite" ? sql`explain query plan ${page}` : sql`explain ${page}`)
            expect(plan).toMatch("reason" in filter ? /upload_entries_reason/ : /upload_entries_(open|reason|pkey)|PRIMARY KEY/)
            expect(plan).not.toMatch(/TEMP B-TREE|Seq Scan/)
          }
        }),
      )
    }),
  )
})
