/** The values of columns as SQLite takes them: it has neither booleans nor lists. */
import type { Commit } from "../contract/Commit.ts"
import type { Columns } from "../sql/CommitColumns.ts"

export type SqliteValue = string | number | null

/** The values of a row in the order of its columns. */
export const valuesIn = <Source>(columns: Columns<Source>): ((source: Source, commit: Commit) => ReadonlyArray<SqliteValue>) => {
  const each = Object.values(columns)
  return (source, commit) => {
    const values: Array<SqliteValue> = []
    for (const { value } of each) values.push(sqliteValue(value(source, commit)))
    return values
  }
}

const sqliteValue = (value: ReturnType<Columns<never>[string]["value"]>): SqliteValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  return typeof value === "object" ? (value === null ? null : JSON.stringify(value)) : (value ?? null)
}
