import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeItemFile } from "@detent/uploads/generate"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { uploadAndRepair, uploadsIn } from "../uploads/Uploading.ts"

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-example-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

it.effect("broken items are corrected, retried by themselves, and found", () =>
  Effect.gen(function* () {
    const folder = yield* freshFolder
    const file = join(folder, "items.json")
    const written = yield* Effect.promise(() => writeItemFile(file, { items: 2000, bad: { missing_field: 0.004, not_json: 0.003 } }))
    const broken = [...written.badIndices.keys()]
    expect(broken.length).toBeGreaterThan(5)
    const { first, failed, second, found } = yield* Effect.provide(uploadAndRepair(file), uploadsIn(folder))
    expect(first).toMatchObject({ state: "partially_completed", items: { total: 2000, stored: written.good, failed: broken.length } })
    expect(failed.map(({ index }) => index)).toEqual(broken)
    expect(second).toMatchObject({ state: "completed", items: { total: 2000, stored: 2000, failed: 0 } })
    expect(found).toHaveLength(broken.length)
  }),
)
