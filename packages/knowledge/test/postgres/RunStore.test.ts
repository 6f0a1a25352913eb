import { MemoryStorage } from "@detent/blobs"
import { StorageFolder } from "@detent/blobs/Storage"
import * as PgClient from "@detent/durable/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import * as ArtifactStore from "../../src/storage/ArtifactStore.ts"
import { runStoreConformance } from "../runs/runStoreConformance.ts"

const client = Layer.unwrap(Effect.map(freshDatabase, (url) => PgClient.layer({ url: Redacted.make(url) })))

runStoreConformance(
  "PostgreSQL",
  Layer.mergeAll(
    RunStore.layer.pipe(Layer.provide(client)),
    ArtifactStore.layer(StorageFolder.make("mem://artifacts/")).pipe(Layer.provide(MemoryStorage.layer)),
  ),
)
