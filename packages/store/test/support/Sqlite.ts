/** A SQLite file of its own, in a folder that goes with the scope. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqliteStore from "../../src/SqliteStore.ts"

export const freshFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-sqlite-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
  ),
  (folder) => join(folder, "store.db"),
)

/** A file with empty tables, made once and removed when the test process ends: to make the tables takes ten times as long as to copy it. */
let template: Promise<string> | undefined

const makeTemplate = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "detent-sqlite-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const filename = join(folder, "template.db")
  // Closed, it is one file without a log beside it.
  await Effect.runPromise(Effect.scoped(Effect.asVoid(Layer.build(SqliteStore.layer({ filename })))))
  return filename
}

/** The store in a file of its own, whose tables are there. */
export const sqliteLayer = Layer.unwrap(
  Effect.gen(function* () {
    const filename = yield* freshFile
    template ??= makeTemplate()
    const made = template
    copyFileSync(yield* Effect.promise(() => made), filename)
    return SqliteStore.layer({ filename })
  }),
)
