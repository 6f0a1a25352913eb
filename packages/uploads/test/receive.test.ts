/** A file that cannot be stored is a typed failure, also when its remains cannot be removed. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FileUnreadable } from "@detent/tables"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CollectionLimit } from "../src/file/Collected.ts"
import { onceFolder, removeLeftovers } from "../src/file/OnceFiles.ts"
import { localTarget, receive } from "../src/Receive.ts"

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-receive-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true })),
)

it.live("a start removes what killed processes left a day ago, and nothing that may be in use", () =>
  Effect.gen(function* () {
    const folder = yield* freshFolder
    yield* removeLeftovers(folder)
    const place = onceFolder(folder)
    mkdirSync(place)
    for (const name of ["plan-1", "preview-2.part", "corrections-3"]) writeFileSync(join(place, name), "customers")
    const before = Date.now() / 1000 - 2 * 86_400
    for (const name of ["plan-1", "preview-2.part"]) utimesSync(join(place, name), before, before)
    yield* removeLeftovers(folder)
    assert.deepStrictEqual(readdirSync(place), ["corrections-3"])
  }),
)

it.live("a received file whose place is taken by a folder fails typed, although the folder cannot be removed either", () =>
  Effect.gen(function* () {
    const folder = yield* freshFolder
    const path = join(folder, "items.ndjson")
    mkdirSync(`${path}.part`)
    writeFileSync(join(`${path}.part`, "kept"), "")
    const bytes = Stream.succeed(new TextEncoder().encode("{}\n"))
    const received = receive(bytes, localTarget(path), "items.ndjson", 1000, new CollectionLimit(0))
    const failure = yield* Effect.flip(received)
    assert.instanceOf(failure, FileUnreadable)
  }),
)
