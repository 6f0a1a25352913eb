/**
 * What the store uses of a client for PostgreSQL, beyond `SqlClient`. A client that has none of it works too: the store then polls for what
 * other processes write. The driver of Effect, `@effect/sql-pg`, has the first three.
 */
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** A session that messages are received on. */
export interface ListenerConnection {
  /** The messages of a channel from now on. The queue fails when the session is lost. */
  readonly listen: (channel: string) => Effect.Effect<Queue.Dequeue<{ readonly payload: string }, SqlError>, SqlError, Scope.Scope>
  readonly notify: (channel: string, payload: string) => Effect.Effect<void, SqlError>
}

export interface PostgresDriver extends ListenerConnection {
  readonly config: {
    /** The longest row that it reads. Default: 16 MiB. */
    readonly maxMessageSize?: number | undefined
  }
  /** Opens a session outside the pool, for all channels. Without it, each channel holds a connection of the pool. */
  readonly openListener?: Effect.Effect<ListenerConnection, SqlError, Scope.Scope>
  /** Whether the server has answered, and the client cannot read the answer: it is too long, or a value cannot be decoded. */
  readonly isUnreadable?: (error: SqlError) => boolean
}

/** Undefined for a client that is not for PostgreSQL, or that cannot listen. */
export const driverOf = (client: SqlClient): PostgresDriver | undefined => (isDriver(client) ? client : undefined)

const isDriver = (client: SqlClient): client is SqlClient & PostgresDriver =>
  Predicate.hasProperty(client, "listen") &&
  Predicate.isFunction(client.listen) &&
  Predicate.hasProperty(client, "notify") &&
  Predicate.hasProperty(client, "config") &&
  Predicate.isObject(client.config)
