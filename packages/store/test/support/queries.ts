/** What an operation of a store asks of its database. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Tracer from "effect/Tracer"

/** The statements that an operation of a store runs. */
export const statementsOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, ReadonlySet<string>], E, R> =>
  Effect.suspend(() => {
    const statements = new Set<string>()
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        const attribute = span.attribute.bind(span)
        return Object.assign(span, {
          attribute: (key: string, value: unknown) => {
            if (key === "db.query.text") statements.add(String(value))
            attribute(key, value)
          },
        })
      },
    })
    return Effect.map(Effect.withTracer(effect, tracer), (result) => [result, statements] as const)
  })

/** The number of rows and entries of indexes that PostgreSQL reads for an operation, in the tables of the store. */
export const readByPostgres = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [A, number], unknown, R | SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const read = Effect.map(
      sql<{ readonly read: number }>`
        select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::integer as read
        from pg_class c where relnamespace = 'detent'::regnamespace`,
      ([row]) => row?.read ?? 0,
    )
    // PostgreSQL counts by transaction, and may not have reported earlier statements of this one yet: the difference counts.
    const measured = Effect.gen(function* () {
      const before = yield* read
      const result = yield* effect
      return [result, (yield* read) - before] as const
    })
    return yield* sql.withTransaction(measured)
  })
