import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStorage } from "@detent/blobs"
import { StorageFolder } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunStore } from "../../src/runs/RunStore.ts"
import * as ArtifactStore from "../../src/storage/ArtifactStore.ts"
import { runStoreConformance } from "./runStoreConformance.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-runs-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
)

const store = Layer.unwrap(Effect.map(folder, (path) => SqliteStore.layer({ filename: join(path, "runs.db") })))

runStoreConformance(
  "SQLite",
  Layer.mergeAll(
    RunStore.layer.pipe(Layer.provide(store)),
    ArtifactStore.layer(StorageFolder.make("mem://artifacts/")).pipe(Layer.provide(MemoryStorage.layer)),
  ),
)
