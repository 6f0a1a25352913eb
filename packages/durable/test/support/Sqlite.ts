/** A SQLite file of its own, in a folder that goes with the scope. */
import { mkdtempSync, rmSync } from "node:fs"
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

/** The store in a file of its own. */
export const sqliteLayer = Layer.unwrap(Effect.map(freshFile, (filename) => SqliteStore.layer({ filename })))
