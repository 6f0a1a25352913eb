/** A file that cannot be stored is a typed failure, also when its remains cannot be removed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FileUnreadable } from "@detent/tables"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CollectionLimit } from "../src/file/Collected.ts"
import { localTarget, receive } from "../src/Receive.ts"

it.live("a received file whose place is taken by a folder fails typed, although the folder cannot be removed either", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-receive-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
    )
    const path = join(folder, "items.ndjson")
    mkdirSync(`${path}.part`)
    writeFileSync(join(`${path}.part`, "kept"), "")
    const bytes = Stream.succeed(new TextEncoder().encode("{}\n"))
    const received = receive(bytes, localTarget(path), "items.ndjson", 1000, new CollectionLimit(0))
    const failure = yield* Effect.flip(received)
    assert.instanceOf(failure, FileUnreadable)
  }),
)
