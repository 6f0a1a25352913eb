/**
 * The clock by which a PostgreSQL store decides which timers are due and which leases and claims have expired: the clock of the server,
 * because it is the same for all nodes. Tests that advance time replace it by the clock of the process.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** The time in milliseconds since 1970 as a part of a statement. */
type TimeIn = (sql: SqlClient) => Effect.Effect<Fragment>

const serverTime: TimeIn = (sql) => Effect.succeed(sql.literal("(extract(epoch from clock_timestamp()) * 1000)::bigint"))

export const processTime: TimeIn = (sql) => Effect.map(Clock.currentTimeMillis, (now) => sql`cast(${Math.floor(now)} as bigint)`)

export const DatabaseClock = Context.Reference<TimeIn>("@detent/durable/postgres/DatabaseClock", { defaultValue: () => serverTime })
