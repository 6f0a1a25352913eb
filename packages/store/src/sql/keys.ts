/** How statements refer to instances. */
import type { Fragment } from "effect/sql/Statement"
import type { Commit, InstanceKey } from "../contract/Commit.ts"
import type { InstanceLife } from "../contract/Journal.ts"
import type { Dialect } from "./Dialect.ts"

/** The row key, by which all other tables refer to the instance. */
export const surrogate = ({ sql, instances }: Dialect, { machine, id }: InstanceKey): Fragment =>
  sql`(select instance from ${instances} where machine = ${machine} and id = ${id})`

/** The same; null if the row belongs to a later instance with the same id. */
export const surrogateOfLife = (dialect: Dialect, { machine, id, startedAt }: InstanceLife): Fragment => {
  if (startedAt === undefined) return surrogate(dialect, { machine, id })
  const { sql, instances } = dialect
  return sql`(select instance from ${instances} where machine = ${machine} and id = ${id} and started_at = ${startedAt})`
}

/** The JSON that `keys` of a dialect takes. */
export const keysOf = (keys: ReadonlyArray<InstanceKey>): string => JSON.stringify(keys.map(({ machine, id }) => [machine, id]))

/** The JSON that `lives` of a dialect takes. */
export const livesOf = (keys: ReadonlyArray<InstanceLife>): string =>
  JSON.stringify(keys.map(({ machine, id, startedAt }) => [machine, id, startedAt]))

/** The revision that a commit with a start compares. Undefined: any instance of the id, in any revision. */
export const revisionOf = ({ startedAt, revision = 0 }: Commit): number | undefined => (startedAt === undefined ? undefined : revision)
