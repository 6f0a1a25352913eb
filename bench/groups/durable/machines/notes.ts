/** Events of 200 bytes, each with one of a thousand keys, and a table with the latest text of each key. The same for every contestant. */
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import { EventJournal } from "effect/eventlog/EventJournal"
import * as EventLog from "effect/eventlog/EventLog"
import type * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { throughputOf } from "../Throughput.ts"

const Notes = EventGroup.empty.add({
  tag: "Noted",
  primaryKey: ({ thing }) => thing,
  payload: Schema.Struct({ thing: Schema.String, text: Schema.String }),
})

export const NoteLog = EventLog.schema(Notes)

export const NoteHandlers = EventLog.group(Notes, (handlers) =>
  Effect.map(SqlClient, (sql) =>
    handlers.handle("Noted", ({ payload }) =>
      Effect.orDie(sql`
        insert into notes (thing, text) values (${payload.thing}, ${payload.text})
        on conflict (thing) do update set text = excluded.text`),
    ),
  ),
)

export const createNotes = Effect.flatMap(SqlClient, (sql) => sql`create table notes (thing varchar(20) primary key, text text not null)`)

const things = 1000
const text = "x".repeat(198)
const bytes = new TextEncoder().encode(text)

export const writingEvents = <X>(layer: Layer.Layer<EventJournal | SqlClient, X>, table: string, concurrency: number) =>
  writing(
    layer,
    table,
    concurrency,
    Effect.map(
      EventJournal,
      (journal) => (n: number) =>
        journal.write({ event: "Noted", primaryKey: `thing-${n % things}`, payload: bytes, effect: () => Effect.void }),
    ),
  )

export const writingNotes = <X>(layer: Layer.Layer<EventLog.EventLog | SqlClient, X>, table: string, concurrency: number) =>
  writing(
    layer,
    table,
    concurrency,
    Effect.map(
      EventLog.makeClient(NoteLog),
      (write) => (n: number) => write({ event: "Noted", payload: { thing: `thing-${n % things}`, text } }),
    ),
  )

const writing = async <R, X>(
  layer: Layer.Layer<R | SqlClient, X>,
  table: string,
  concurrency: number,
  writer: Effect.Effect<(n: number) => Effect.Effect<void, unknown>, never, R>,
) => {
  const runtime = ManagedRuntime.make(layer)
  const write = await runtime.runPromise(writer)
  let next = 0
  const writeUntil = (isOver: () => boolean) =>
    Effect.forEach(
      Array.from({ length: concurrency }),
      Effect.fnUntraced(function* () {
        let done = 0
        while (!isOver()) {
          yield* write(next++)
          done++
        }
        return done
      }),
      { concurrency },
    )
  return throughputOf({
    store: async (isOver) => (await runtime.runPromise(writeUntil(isOver))).reduce((sum, done) => sum + done, 0),
    count: () => runtime.runPromise(countRows(table)),
    close: () => runtime.dispose(),
  })
}

const countRows = (table: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ readonly rows: number | bigint }>`select count(*) as rows from ${sql.literal(table)}`
    return Number(row?.rows)
  })
