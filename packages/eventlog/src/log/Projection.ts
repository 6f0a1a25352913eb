/**
 * The tables that handlers fill, and the position up to which they are filled. The position is stored in the same transaction as the writes
 * of the handlers, so that each event is applied to the tables exactly once, also after crashes.
 */

import type { Row } from "@detent/store/internal"
import { wholeOf } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { EventStore, StoreError } from "../journal/EventStore.ts"
import { typed } from "../journal/EventStore.ts"

export interface Projection {
  readonly name: string
  /** When it changes, the tables are dropped, created and filled again. Default: 1. */
  readonly version?: number
  /** The tables that only the handlers fill. When one is missing, all are created and filled again. */
  readonly tables: ReadonlyArray<string>
  /** Creates the tables. */
  readonly create: Effect.Effect<unknown, SqlError, SqlClient>
}

/** The tables cannot be used. Nothing was changed. */
export class ProjectionRefused extends Schema.TaggedError<ProjectionRefused>()("ProjectionRefused", {
  journal: Schema.String,
  projection: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `journal ${this.journal}: projection ${this.projection}: ${this.problem}; ${this.nextStep}`
  }
}

export interface ProjectionTables {
  /** Creates the tables if they are missing or of another version. */
  readonly prepare: Effect.Effect<void, StoreError | ProjectionRefused>
  /** Creates them again, empty, so that all events are replayed. */
  readonly empty: Effect.Effect<void, StoreError | ProjectionRefused>
  /** Returns their position, which no other transaction changes until the current one ends. */
  readonly lock: Effect.Effect<number, StoreError | ProjectionRefused>
  readonly position: Effect.Effect<number, StoreError>
  readonly advance: (position: number) => Effect.Effect<unknown, StoreError>
}

export const makeProjectionTables = (
  store: EventStore,
  { name, version = 1, tables, create }: Projection,
): Effect.Effect<ProjectionTables, ProjectionRefused> =>
  Effect.gen(function* () {
    const { journal, dialect } = store
    const { sql, projections } = dialect
    const refuse = (problem: string, nextStep: string) => new ProjectionRefused({ journal, projection: name, problem, nextStep })
    const odd = tables.find((table) => !/^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/.test(table))
    if (odd !== undefined) return yield* refuse(`${odd} is not a plain name for a table`, "use a-z, 0-9 and _")
    if (!Number.isSafeInteger(version) || version < 1) return yield* refuse(`${version} is not a version`, "count from 1")
    if (tables.length === 0)
      return yield* refuse("it names no table", "name the tables that its handlers fill, so that a missing one is noticed")

    const known = Effect.map(
      sql<Row>`select version, position from ${projections} where journal = ${journal} and name = ${name}`,
      ([row]) => (row === undefined ? undefined : stateOf(row)),
    )
    const existing = Effect.filter(tables, dialect.tableExists)
    /** Under the lock of this name: two processes that start at the same time do not both create the tables. */
    const exclusively = <A, E>(effect: Effect.Effect<A, E>) => store.exclusively(`projection ${name}`, effect)

    const makeTables = Effect.gen(function* () {
      // Takes locks in the order of the writers, so that no writer waits for the tables in the middle of a handler.
      yield* dialect.lockProjection(journal, name)
      for (const table of tables.toReversed()) yield* sql.unsafe(`drop table if exists ${table}`)
      yield* Effect.provideService(create, SqlClient, sql)
      const made = yield* existing
      const missing = tables.filter((table) => !made.includes(table))
      if (missing.length > 0) return yield* refuse(`create does not create table ${missing.join(", ")}`, "create it there")
      yield* sql`
        insert into ${projections} (journal, name, version, position) values (${journal}, ${name}, ${version}, 0)
        on conflict (journal, name) do update set version = excluded.version, position = 0`
    })

    return {
      prepare: exclusively(
        Effect.gen(function* () {
          const state = yield* known
          const there = yield* existing
          if (state === undefined && there.length > 0)
            return yield* refuse(`table ${there.join(", ")} exists already, and was not created by it`, "drop or rename the table")
          if (state?.version === version && there.length === tables.length) return
          yield* makeTables
        }),
      ),
      empty: exclusively(makeTables),
      lock: typed(
        Effect.flatMap(dialect.lockProjection(journal, name), ([row]) => {
          const state = row === undefined ? undefined : stateOf(row)
          if (state?.version === version) return Effect.succeed(state.position)
          const now = state === undefined ? "it was removed" : `it has version ${state.version} now, and this process has ${version}`
          return Effect.fail(refuse(now, "restart this process with the newest version of the program"))
        }),
      ),
      position: typed(Effect.map(known, (state) => state?.position ?? 0)),
      advance: (position) => typed(sql`update ${projections} set position = ${position} where journal = ${journal} and name = ${name}`),
    }
  })

const stateOf = (row: Row) => ({ version: wholeOf(row, "version"), position: wholeOf(row, "position") })
