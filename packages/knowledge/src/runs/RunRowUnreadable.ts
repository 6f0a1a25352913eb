/**
 * A row of the run tables that makes no sense: somebody else wrote to them, or the file is damaged. It is thrown, since no caller
 * can do anything about it; whoever is told has what to look for.
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { describe } from "../storage/Describe.ts"

export class RunRowUnreadable extends Schema.TaggedError<RunRowUnreadable>()("RunRowUnreadable", {
  table: Schema.String,
  run: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `a row of ${this.table} for run ${this.run} cannot be read: ${this.problem}; restore it from a backup, or extract the document in a new batch`
  }
}

/** Reads rows of a table by a schema. */
export const rowReader = <A, I>(table: string, schema: Schema.Codec<A, I>): ((row: object) => A) => {
  const decode = Schema.decodeUnknownSync(schema)
  return (row) => {
    try {
      return decode(withNumbers(row))
    } catch (cause) {
      const run = Predicate.hasProperty(row, "run_id") ? describe(row.run_id) : "unknown"
      throw new RunRowUnreadable({ table, run, problem: describe(cause) })
    }
  }
}

/** PostgreSQL's client gives a bigint for a bigint, SQLite's a number. */
const withNumbers = (row: object): object =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]))
