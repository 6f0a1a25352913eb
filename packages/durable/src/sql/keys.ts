/** Instances as statements name them. */
import type { Fragment } from "effect/unstable/sql/Statement"
import type { InstanceKey } from "../store/Commit.ts"
import type { Dialect } from "./Dialect.ts"

/** The row's own key, by which all other tables know the instance. */
export const surrogate = ({ sql, instances }: Dialect, { machine, id }: InstanceKey): Fragment =>
  sql`(select instance from ${instances} where machine = ${machine} and id = ${id})`

/** As `keys` of a dialect takes them. */
export const keysOf = (keys: ReadonlyArray<InstanceKey>): string => JSON.stringify(keys.map(({ machine, id }) => [machine, id]))
