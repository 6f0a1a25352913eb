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

class NotForSale extends Schema.TaggedError<NotForSale>()("NotForSale", { pet: Schema.String }) {}

const primaryKey = ({ pet }: { readonly pet: string }) => pet
const PetEvents = EventGroup.empty
  .add({ tag: "PetCreated", primaryKey, payload: Schema.Struct({ pet: Schema.String, name: Schema.String }) })
  .add({ tag: "PetSold", primaryKey, payload: Schema.Struct({ pet: Schema.String, to: Schema.String }), error: NotForSale })
const PetLog = EventLog.schema(PetEvents)

/** Each handler runs in the transaction that stores its event. */
const PetHandlers = EventLog.group(PetEvents, (handlers) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return handlers
      .handle("PetCreated", ({ payload: { pet, name } }) => Effect.orDie(sql`insert into pets (pet, name) values (${pet}, ${name})`))
      .handle("PetSold", ({ payload: { pet, to } }) =>
        Effect.gen(function* () {
          const sold = yield* Effect.orDie(sql`update pets set owner = ${to} where pet = ${pet} and owner is null returning pet`)
          if (sold.length === 0) return yield* new NotForSale({ pet }) // what a handler refuses is not stored
        }),
      )
  }),
)

const pets: SqlEventLog.Projection = {
  name: "pets",
  version: 1,
  tables: ["pets"],
  create: Effect.flatMap(SqlClient, (sql) => sql`create table pets (pet text primary key, name text not null, owner text)`),
}
const store = SqliteStore.layer({ filename: ":memory:" })
const log = SqlEventLog.layer(PetLog, PetHandlers, { journal: "pets", replay: pets }).pipe(Layer.provideMerge(store))

const program = Effect.gen(function* () {
  const write = yield* EventLog.makeClient(PetLog)
  yield* write({ event: "PetCreated", payload: { pet: "p1", name: "Rex" } })
  yield* write({ event: "PetSold", payload: { pet: "p1", to: "Ann" } })
  const refused = yield* Effect.flip(write({ event: "PetSold", payload: { pet: "p1", to: "Bob" } }))
  yield* Console.log(`refused: ${refused._tag}`)
  yield* Stream.runForEach(Stream.take(SqlEventLog.stream(PetLog), 2), ({ position, _tag }) => Console.log(`${position} ${_tag}`))
})
await Effect.runPromise(Effect.provide(program, log))
