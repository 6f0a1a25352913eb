import * as operations from "@detent/workspace/operations/backup"
import * as Effect from "effect/Effect"
import { withProgress } from "../../data/DataProgress.ts"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import { databaseOf } from "../../workspace/Opening.ts"

export default command(
  {
    name: "data backup",
    summary: "back up a workspace while it runs",
    detail:
      "Copies the database, SQLite or PostgreSQL, as one consistent snapshot, and then the files of the data folder. Processes of the\n" +
      "workspace continue meanwhile. The backup is a folder with detent.db, files/, files.sha256 and backup.json, which is written last.\n" +
      "Where the data is in a bucket, the backup holds only the database: turn on versioning of the bucket for the files.\n" +
      "After a restore, instances, batches and uploads resume from their state at the time of the snapshot.",
    arguments: [],
    options: [{ name: "to", kind: "text", value: "DIR", summary: "a folder that is empty or missing" }],
    examples: [
      { line: "detent data backup --to backups/monday", says: "then: detent data restore --from backups/monday --data new" },
      { line: "detent data backup --database postgres://db/detent --to backups/monday", says: "backs up a PostgreSQL database" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { data, to } = input
      if (to === undefined) return yield* new WrongUsage({ problem: "--to is missing", nextStep: "name a new folder with --to" })
      const manifest = yield* withProgress((onProgress) => operations.backup({ database: databaseOf(input), data, to, onProgress }))
      yield* output.value(manifest, () => `${to}\n`)
      const database = `the database (${manifest.bytes} bytes)`
      yield* output.note(
        manifest.files === undefined
          ? `${database} is in ${to}, as of ${manifest.createdAt}; the files stay in ${manifest.bucket}, which needs versioning`
          : `${database} and ${counted(manifest.files.files, "file")} (${manifest.files.bytes} bytes) are in ${to}, as of ${manifest.createdAt}`,
      )
      const place = manifest.files === undefined ? `${manifest.bucket} --database postgres://…` : "NEW"
      yield* output.note(`restore it with: detent data restore --from ${to} --data ${place}`)
    }),
)
