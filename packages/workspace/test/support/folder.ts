/** A folder of the test's own, gone when its scope closes. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"

export const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "detent-workspace-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })),
)
