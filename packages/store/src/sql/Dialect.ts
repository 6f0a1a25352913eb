/**
 * The differences between SQLite and PostgreSQL in otherwise equal SQL: names of tables, the clock, JSON. Statements whose shape decides
 * the speed of a database (commit, fork, reading events) are not shared; see sqlite/ and postgres/.
 */
import type * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { ShardFilter } from "../contract/Commit.ts"
import type { DatabaseId } from "../contract/DatabaseId.ts"
import type { InstanceLife } from "../contract/Journal.ts"
import type { Row } from "./Row.ts"

/** The parts of a statement that updates instances and reads them. All parts see the tables as they were before the statement. */
export interface UpdateAndRead {
  /** Selects `instance` and `id` of the instances to update. */
  readonly page: Fragment
  /** Updates instances whose key is `= page`, and returns `instance` of those it changed. */
  readonly update: (page: Fragment) => Fragment
  /** Reads `page`, one row with the columns `size` and `last_id`, and `changed`, the rows that the update returned. */
  readonly read: Fragment
}

export interface Dialect {
  /** The client without the name transformations that a user may have configured. */
  readonly sql: SqlClient
  readonly instances: Fragment
  readonly events: Fragment
  readonly snapshots: Fragment
  readonly timers: Fragment
  readonly leases: Fragment
  readonly commands: Fragment
  readonly queues: Fragment
  /** The groups of queues: their own limits, and the starts that their rates count. */
  readonly groups: Fragment
  readonly listing: Fragment
  readonly counts: Fragment
  /** The table of changes that the listing has not folded yet. */
  readonly moves: Fragment
  /** The number of finished commands, by queue and status. */
  readonly finished: Fragment
  /** Extends a statement by which an operator ends commands, and which returns their id, queue and status, by the part that counts them. */
  readonly finishing: (update: Fragment) => Fragment
  /** Joins instances to the listing in the order of the listing. */
  readonly joinInstances: Fragment
  /** The values of indexed fields and labels. */
  readonly fields: Fragment
  readonly indexFills: Fragment
  /** Joins the instance `i` to each entry `e`, looked up by its key. */
  readonly instanceOfEntry: Fragment
  /**
   * The source of a select: the rows `f` of a query for each state `c` of a machine or, without one, of all machines. The query reads one
   * part of the index by states, so no index over all states is needed. SQLite cannot join a query of this form, and has that index.
   */
  readonly eachState?: (machine: string | undefined, ofState: Fragment) => Fragment
  /** The rows of a query for few instances of the listing, and the instances whose changes are not folded yet. */
  readonly orMoved: (listed: Fragment) => Fragment
  /** Appends instances to {@link moves}. */
  readonly insertMoves: (instances: ReadonlyArray<number>) => Fragment
  /** A boolean as a parameter. */
  readonly flag: (value: boolean) => Fragment
  /** Updates instances and reads them in one statement. Undefined on SQLite, where an update cannot be part of a query. */
  readonly updateAndRead?: (parts: UpdateAndRead) => Fragment
  /** Locks the chosen instances `i`, and skips those that another transaction is about to change. SQLite has only one writer. */
  readonly lockInstances: Fragment
  /** The time that decides whether leases have expired: the clock of the database, if it is a server. */
  readonly now: Effect.Effect<Fragment>
  /** JSON `[[machine, id], ...]` as rows `(machine, id)`. */
  readonly keys: (json: string) => Fragment
  /** JSON `[[machine, id, startedAt], ...]` as rows `(machine, id, started_at)`. */
  readonly lives: (json: string) => Fragment
  /** JSON `[[number, claim], ...]` as rows `(number, claim)`. */
  readonly claims: (json: string) => Fragment
  readonly databaseId: DatabaseId
  /** The table of events, for statements that find them by sequence number. */
  readonly eventsBySequence: Fragment
  /** The condition for events of an instance after one sequence number and through another. */
  readonly within: (instance: Fragment, after: number, through: number) => Fragment
  /** The live timers of the instance `i` as one JSON text. */
  readonly timersOfInstance: Fragment
  /** Locks the chosen timers `t`, and skips those that another transaction has locked. */
  readonly skipLocked: Fragment
  /** Whether the instance `i` is in one of the shards. Undefined for a database of one machine, which has no shards. */
  readonly inShards?: (shards: ShardFilter) => Fragment
}

/** Reads the events of instances, in each database by the queries that suit its index. */
export interface EventReading {
  /** The events after a sequence number, ascending, at most `limit`. */
  readonly events: (key: InstanceLife, after: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** The events after the snapshots of several instances, with `machine` and `id`: grouped by instance, ascending. */
  readonly tails: (keys: ReadonlyArray<InstanceLife>) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}
