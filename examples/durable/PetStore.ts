/**
 * A pet store with event sourcing: events are stored in a SQLite file, and a table of pets is a projection of them. Stop it,
 * start it again, drop the table: a replay of the events restores it. Of the weighings only the latest is kept.
 *
 * Run it: `npx node examples/durable/PetStore.ts pets.db`, twice. Positions 4 and 5 are missing: a later weighing replaced them.
 */

import * as SqliteStore from "@detent/durable/SqliteStore"
import * as SqlEventLog from "@detent/eventlog/SqlEventLog"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import * as EventLog from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"

export class NotForSale extends Schema.TaggedError<NotForSale>()("NotForSale", { pet: Schema.String }) {}

const pet = { pet: Schema.String }
const primaryKey = ({ pet }: { readonly pet: string }) => pet

export const PetEvents = EventGroup.empty
  .add({ tag: "PetCreated", primaryKey, payload: Schema.Struct({ ...pet, name: Schema.String }) })
  .add({ tag: "PetRenamed", primaryKey, payload: Schema.Struct({ ...pet, name: Schema.String }) })
  .add({ tag: "PetWeighed", primaryKey, payload: Schema.Struct({ ...pet, grams: Schema.Int }) })
  .add({ tag: "PetSold", primaryKey, payload: Schema.Struct({ ...pet, to: Schema.String }), error: NotForSale })

export const PetLog = EventLog.schema(PetEvents)

/** A missing handler is a compile error. Each handler runs in the transaction that stores its event. */
export const PetHandlers = EventLog.group(PetEvents, (handlers) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return handlers
      .handle("PetCreated", ({ payload: { pet, name } }) => Effect.orDie(sql`insert into pets (pet, name) values (${pet}, ${name})`))
      .handle("PetRenamed", ({ payload: { pet, name } }) => Effect.orDie(sql`update pets set name = ${name} where pet = ${pet}`))
      .handle("PetWeighed", ({ payload: { pet, grams } }) => Effect.orDie(sql`update pets set grams = ${grams} where pet = ${pet}`))
      .handle("PetSold", ({ payload: { pet, to } }) =>
        Effect.gen(function* () {
          const sold = yield* Effect.orDie(sql`update pets set owner = ${to} where pet = ${pet} and owner is null returning pet`)
          // An event that its handler refuses is not stored.
          if (sold.length === 0) return yield* new NotForSale({ pet })
        }),
      )
  }),
)

/** The table is created and filled by a replay when it is missing, or when the version changes. */
const pets: SqlEventLog.Projection = {
  name: "pets",
  version: 1,
  tables: ["pets"],
  create: Effect.flatMap(SqlClient, (sql) => sql`create table pets (pet text primary key, name text not null, owner text, grams integer)`),
}

/** `PostgresStore.layer({ url })` works in place of `SqliteStore.layer`. */
export const petStore = (filename: string) =>
  SqlEventLog.layer(PetLog, PetHandlers, { journal: "pets", keepLatest: ["PetWeighed"], replay: pets }).pipe(
    Layer.provideMerge(SqliteStore.layer({ filename })),
  )

/** Prints the table and every stored event. */
export const report = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ pet: string; name: string; owner: string | null; grams: number | null }>`select * from pets order by pet`
  for (const { pet, name, owner, grams } of rows)
    yield* Console.log(`${pet} is ${name}${grams === null ? "" : `, ${grams} g`}${owner === null ? "" : `, belongs to ${owner}`}`)
  // The stream has no end: it continues with later events. Here it ends after the events stored so far.
  const { length } = yield* (yield* EventLog.EventLog).entries
  const events = SqlEventLog.stream(PetLog).pipe(Stream.take(length))
  yield* Stream.runForEach(events, ({ position, _tag, primaryKey }) => Console.log(`  ${position} ${_tag} ${primaryKey}`))
})

/** The first run writes the events; the second finds them, and sells no pet twice. */
export const main = Effect.gen(function* () {
  const write = yield* EventLog.makeClient(PetLog)
  const sql = yield* SqlClient
  const [known] = yield* sql`select pet from pets`
  if (known === undefined) {
    yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
    yield* write({ event: "PetCreated", payload: { pet: "p2", name: "Tom" } })
    yield* write({ event: "PetRenamed", payload: { pet: "p1", name: "Max" } })
    for (const grams of [900, 950, 1000]) yield* write({ event: "PetWeighed", payload: { pet: "p1", grams } })
    yield* write({ event: "PetSold", payload: { pet: "p1", to: "Ann" } })
  } else {
    const refused = yield* Effect.flip(write({ event: "PetSold", payload: { pet: "p1", to: "Bob" } }))
    yield* Console.log(`p1 was not sold again: ${refused._tag}`)
  }
  yield* report
})

if (import.meta.main) {
  const filename = process.argv[2] ?? "pets.db"
  await Effect.runPromise(main.pipe(Effect.provide(petStore(filename))))
}
