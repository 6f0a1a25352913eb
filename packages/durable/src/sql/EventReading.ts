/** How the events of instances are read: each database in the way its index is made for. */
import type * as Effect from "effect/Effect"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { InstanceLife } from "../store/Journal.ts"
import type { Row } from "./Row.ts"

export interface EventReading {
  /** After a sequence number, ascending, at most `limit`. */
  readonly events: (key: InstanceLife, after: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, SqlError>
  /** Those after the snapshots of several instances, with `machine` and `id`: ascending, those of one together. */
  readonly tails: (keys: ReadonlyArray<InstanceLife>) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}
