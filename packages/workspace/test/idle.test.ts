import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { Batches } from "@detent/knowledge"
import { Workspace } from "@detent/workspace"
import { isIdle } from "@detent/workspace/operations/work"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { within } from "../../store/test/support/patience.ts"

const corpus = join(import.meta.dirname, "../../knowledge/corpus")

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-idle-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
)

it.live("a workspace with a cancelled batch has nothing to do", () =>
  Effect.gen(function* () {
    const data = yield* folder
    const manifest = { targetNamespace: "people", ontology: "ontology.ttl", documents: [{ source: "documents/ada-sol.txt" }] }
    // Started by a process that does no work, so that the batch is cancelled before it ends.
    const starting = Workspace.open({ data, role: "work", readable: [corpus], knowledge: { engine: { worker: false } } })
    yield* Effect.gen(function* () {
      const batches = yield* Batches
      const id = yield* batches.start(StorageFolder.make(`${pathToFileURL(corpus).href}/`), manifest as never)
      yield* batches.cancel(id)
      assert.strictEqual((yield* batches.state(id))._tag, "Cancelled")
    }).pipe(Effect.provide(starting))
    yield* Effect.repeat(isIdle, { until: (idle) => idle, schedule: Schedule.spaced("50 millis") }).pipe(
      within("20 seconds"),
      Effect.provide(Workspace.open({ data, role: "work", readable: [corpus], knowledge: {} })),
    )
  }),
)
