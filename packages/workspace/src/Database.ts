/** The database of a workspace: a file in its data folder, or the database at the given address. */
import { join } from "node:path"
import { type Database, databaseAt } from "@detent/store/Database"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export { type Database, type Stores, storesIn } from "@detent/store/Database"

/** The address of the database is not valid or names a database that is not supported. */
export class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", { problem: Schema.String }) {
  override get message() {
    return `${this.problem}; use sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME`
  }
}

/** Parses the address. Without an address, the database is a file in the data folder. */
export const databaseOf = (address: string | undefined, data: string): Result.Result<Database, DatabaseRefused> =>
  address === undefined || address === ""
    ? Result.succeed({ _tag: "Sqlite", file: join(data, "detent.db") })
    : Result.mapError(databaseAt(address), (problem) => new DatabaseRefused({ problem }))
