/** Property: after any writes, by any process, the tables that a replay creates equal the tables before. */
import { assert, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { EventLog } from "effect/eventlog/EventLog"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { freshName, postgres, sqlite } from "./Databases.ts"
import { petClient, petLayer, petRows } from "./Pets.ts"

const pet = Schema.Literals(["p1", "p2", "p3"])
const Operation = Schema.TaggedUnion({
  Create: { pet },
  Rename: { pet },
  Weigh: { pet },
  Sell: { pet },
})
type Operation = typeof Operation.Type

/** Writes made at once, and whether they are one transaction, which may be rolled back. */
const Round = Schema.Struct({
  program: Schema.Literals([0, 1]),
  operations: Schema.Array(Operation).check(Schema.isMinLength(1), Schema.isMaxLength(6)),
  transaction: Schema.Literals(["none", "none", "stored", "undone"]),
})

const perform = (write: Effect.Success<typeof petClient>, operation: Operation, n: number): Effect.Effect<unknown, unknown> => {
  switch (operation._tag) {
    case "Create":
      return write({ event: "PetCreated", payload: { pet: operation.pet, name: `name ${n}` } })
    case "Rename":
      return write({ event: "PetRenamed", payload: { pet: operation.pet, name: `name ${n}` } })
    case "Weigh":
      return write({ event: "PetWeighed", payload: { pet: operation.pet, grams: n } })
    case "Sell":
      return write({ event: "PetSold", payload: { pet: operation.pet, to: `owner ${n}` } })
  }
}

for (const database of [sqlite, postgres])
  layer(Layer.orDie(database.layer), { excludeTestServices: true, timeout: "60 seconds" })(`rebuilding: ${database.name}`, (it) => {
    it.effect.prop(
      "a table that is created again equals the table before",
      [Arbitrary.array(Arbitrary.schema(Round), { minLength: 3, maxLength: 12 })],
      ([rounds]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const sql = yield* SqlClient
            yield* sql`drop table if exists pets`
            const journal = freshName()
            const open = Effect.gen(function* () {
              const scope = yield* Scope.fork(yield* Effect.scope)
              const context = yield* Layer.buildWithMemoMap(petLayer({ journal }), Layer.makeMemoMapUnsafe(), scope)
              return { write: yield* Effect.provideContext(petClient, context), log: Context.get(context, EventLog), scope }
            })
            const programs = [yield* open, yield* open]
            let n = 0
            for (const { program, operations, transaction } of rounds) {
              const write = programs[program]?.write
              if (write === undefined) continue
              const each = (concurrency: "unbounded" | 1) =>
                Effect.forEach(operations, (operation) => Effect.exit(perform(write, operation, n++)), { concurrency })
              if (transaction === "none") yield* each("unbounded")
              else
                yield* Effect.exit(
                  sql.withTransaction(Effect.andThen(each(1), transaction === "undone" ? Effect.fail("undone") : Effect.void)),
                )
            }
            const rows = yield* petRows
            const entries = yield* programs[0]?.log.entries ?? Effect.succeed([])
            for (const pet of ["p1", "p2", "p3"])
              assert.isAtMost(entries.filter(({ event, primaryKey }) => event === "PetWeighed" && primaryKey === pet).length, 1)
            for (const { scope } of programs) yield* Scope.close(scope, Exit.void)
            yield* sql`drop table pets`
            yield* open
            assert.deepStrictEqual(yield* petRows, rows)
          }),
        ),
      { arbitrary: { runs: database.isPostgres ? 25 : 60 } },
    )
  })
