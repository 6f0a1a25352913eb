/** Reads the events of instances, in each database by the queries that suit its index. */
import type * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { InstanceLife } from "../contract/Journal.ts"
import type { Row } from "./Row.ts"

export interface EventReading {
  /** The events after a sequence number, ascending, at most `limit`. */
  readonly events: (key: InstanceLife, after: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** The events after the snapshots of several instances, with `machine` and `id`: grouped by instance, ascending. */
  readonly tails: (keys: ReadonlyArray<InstanceLife>) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}
