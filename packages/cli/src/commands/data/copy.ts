import { join } from "node:path"
import { findConfig } from "@detent/workspace/Config"
import * as operations from "@detent/workspace/operations/data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { noteOpened, openedInstances, withProgress } from "../../data/DataProgress.ts"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { tableText } from "../../output/Table.ts"
import { databaseOf } from "../../workspace/Opening.ts"

export default command(
  {
    name: "data copy",
    summary: "copy a workspace into an empty database, and check the copy",
    detail:
      "Copies every table, from SQLite to PostgreSQL or vice versa. Stop the processes of the source first.\n" +
      "After a kill, run the same command again to resume it. At the end it compares rows and digests of every table and opens\n" +
      "every instance that has not ended. The data folder is unchanged: use it with the new database, at the same path.\n" +
      "With --to-data, its files are copied too and checked by their SHA-256: uploaded files, artifacts, graphs.\n" +
      "Your own tables are not copied; the command lists them at the end.",
    arguments: [],
    options: [
      { name: "from", kind: "text", value: "URL", summary: "sqlite:PATH or postgres://…. Default: the database of this workspace" },
      { name: "to", kind: "text", value: "URL", summary: "sqlite:PATH or postgres://…; an empty database" },
      { name: "to-data", kind: "text", value: "DIR", summary: "also copy the files of the data folder to this folder" },
      { name: "force", kind: "flag", summary: "copy even while a process works in the source" },
    ],
    examples: [
      { line: "detent data copy --to postgres://db/detent", says: "then: detent serve --database postgres://db/detent" },
      { line: "detent data copy --to sqlite:new/detent.db --to-data new", says: "database and files; then: detent serve --data new" },
      { line: "detent data copy --from postgres://db/detent --to sqlite:detent.db --json", says: "progress and report as JSON lines" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { to, data, force } = input
      const toData = input["to-data"]
      if (to === undefined)
        return yield* new WrongUsage({ problem: "--to is missing", nextStep: "name an empty database: sqlite:PATH or postgres://…" })
      const from = input.from ?? databaseOf(input) ?? `sqlite:${join(data, "detent.db")}`
      const config = Option.getOrUndefined(yield* findConfig("."))
      const uploads = config?.uploads?.filter((one) => one !== "items")
      const request = { from, to, data, toData, force, uploads }
      const { isResumed, tables, left, files } = yield* withProgress((onProgress) => operations.copy({ ...request, onProgress }))
      const opened = yield* openedInstances({ data: toData ?? data, database: to })
      const { checked, failing, unchecked } = opened
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      const report = { rows, isResumed, tables, left, checked, failing, unchecked: unchecked.map(({ machine }) => machine) }
      yield* output.value(files === undefined ? report : { ...report, files }, () =>
        tableText(
          tables,
          [
            { title: "TABLE", of: ({ table }) => table },
            { title: "ROWS", of: (table) => table.rows },
            { title: "DIGEST", of: ({ digest }) => digest },
          ],
          output.style,
        ),
      )
      yield* output.note(
        `${rows} rows ${isResumed ? "are copied, some of them by an earlier run," : "are copied"} and equal in both databases`,
      )
      if (files !== undefined)
        yield* output.note(`${files.files} files (${files.bytes} bytes) are equal in both folders; ${files.kept} of them were there before`)
      yield* noteOpened(opened)
      if (left.length > 0) yield* output.note(`your own tables were not copied: ${left.join(", ")}`)
      return failing.length > 0 ? ExitCode.failed : ExitCode.ok
    }),
)
