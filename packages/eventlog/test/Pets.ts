/** A small domain to test logs with: pets are created, renamed, weighed often, and sold once. */
import * as Effect from "effect/Effect"
import * as EventGroup from "effect/eventlog/EventGroup"
import * as EventLog from "effect/eventlog/EventLog"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqlEventLog from "../src/SqlEventLog.ts"

const pet = Schema.String
const primaryKey = ({ pet }: { readonly pet: string }) => pet

export class NotForSale extends Schema.TaggedError<NotForSale>()("NotForSale", { pet }) {}

export const PetEvents = EventGroup.empty
  .add({ tag: "PetCreated", primaryKey, payload: Schema.Struct({ pet, name: Schema.String }) })
  .add({ tag: "PetRenamed", primaryKey, payload: Schema.Struct({ pet, name: Schema.String }) })
  .add({ tag: "PetWeighed", primaryKey, payload: Schema.Struct({ pet, grams: Schema.Int }) })
  .add({ tag: "PetSold", primaryKey, payload: Schema.Struct({ pet, to: Schema.String }), success: Schema.String, error: NotForSale })

export const PetLog = EventLog.schema(PetEvents)

/** Every handler writes to the table with plain SQL, so that a second run would show. */
export const PetHandlers = EventLog.group(PetEvents, (handlers) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return handlers
      .handle("PetCreated", ({ payload }) =>
        Effect.orDie(sql`insert into pets (pet, name, changes) values (${payload.pet}, ${payload.name}, 1)`),
      )
      .handle("PetRenamed", ({ payload }) =>
        Effect.orDie(sql`update pets set name = ${payload.name}, changes = changes + 1 where pet = ${payload.pet}`),
      )
      .handle("PetWeighed", ({ payload }) => Effect.orDie(sql`update pets set grams = ${payload.grams} where pet = ${payload.pet}`))
      .handle("PetSold", ({ payload }) =>
        Effect.gen(function* () {
          const sold = yield* Effect.orDie(
            sql`update pets set owner = ${payload.to}, changes = changes + 1 where pet = ${payload.pet} and owner is null returning pet`,
          )
          if (sold.length === 0) return yield* new NotForSale({ pet: payload.pet })
          return `${payload.pet} belongs to ${payload.to}`
        }),
      )
  }),
)

export const pets: SqlEventLog.Projection = {
  name: "pets",
  tables: ["pets"],
  create: Effect.flatMap(
    SqlClient,
    (sql) => sql`create table pets (pet varchar(99) primary key, name text not null, owner text, grams integer, changes integer not null)`,
  ),
}

export const petLayer = (options: Parameters<typeof SqlEventLog.layer<typeof PetEvents, never, SqlClient>>[2] = {}) =>
  SqlEventLog.layer(PetLog, PetHandlers, { replay: pets, keepLatest: ["PetWeighed"], ...options })

/** The rows of the table. */
export const petRows = Effect.flatMap(
  SqlClient,
  (sql) => sql<Record<string, unknown>>`select pet, name, owner, grams, changes from pets order by pet`,
)

export const petClient = EventLog.makeClient(PetLog)
