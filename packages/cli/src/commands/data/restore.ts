import { findConfig } from "@detent/workspace/Config"
import * as operations from "@detent/workspace/operations/backup"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { noteOpened, openedInstances, withProgress } from "../../data/DataProgress.ts"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { databaseOf } from "../../workspace/Opening.ts"

export default command(
  {
    name: "data restore",
    summary: "create a workspace from a backup",
    detail:
      "Checks the backup, then writes its database and its files to --data and --database, which have to be empty. A backup of\n" +
      "PostgreSQL may be restored to SQLite, or vice versa. At the end it opens every instance that has not ended.\n" +
      "First stop the processes of the original workspace, if both workspaces would act on the same external systems.",
    arguments: [],
    options: [{ name: "from", kind: "text", value: "DIR", summary: "the folder of a backup" }],
    examples: [
      { line: "detent data restore --from backups/monday --data new", says: "then: detent serve --data new" },
      { line: "detent data restore --from backups/monday --data new --database postgres://db/empty", says: "restores to PostgreSQL" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { data, from } = input
      if (from === undefined) return yield* new WrongUsage({ problem: "--from is missing", nextStep: "name the backup with --from" })
      const config = Option.getOrUndefined(yield* findConfig("."))
      const uploads = config?.uploads?.filter((one) => one !== "items")
      const restored = yield* withProgress((onProgress) =>
        operations.restore({ from, database: databaseOf(input), data, uploads, onProgress }),
      )
      const opened = yield* openedInstances({ data, database: databaseOf(input) })
      const { checked, failing } = opened
      yield* output.value({ ...restored, checked, failing }, () => `${data}\n`)
      yield* output.note(`the workspace has the data of ${restored.createdAt}`)
      yield* noteOpened(opened)
      return failing.length > 0 ? ExitCode.failed : ExitCode.ok
    }),
)
