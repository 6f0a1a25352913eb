/** Other users of the machine cannot read the data of a workspace. */
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { backup, restore } from "@detent/workspace/operations/backup"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { unless } from "../../../store/test/support/skipping.ts"
import { corpusFolder, smallManifest } from "../support/manifest.ts"
import { batchEnded, request, served, temporaryFolder } from "../support/served.ts"

/** The folders and files that users other than the owner may use in any way. */
const sharedIn = (folder: string) =>
  Effect.promise(async () => {
    const entries = await readdir(folder, { recursive: true })
    assert.isAbove(entries.length, 0)
    const found: Array<string> = []
    for (const entry of [".", ...entries]) {
      const { mode } = await stat(join(folder, entry))
      if ((mode & 0o077) !== 0) found.push(`${entry} ${(mode & 0o777).toString(8)}`)
    }
    return found
  })

const noModes = process.platform === "win32" ? "Windows has no modes of files" : undefined

const onProgress = () => Effect.void

describe("the files of a workspace, and of its backups", unless(noModes), () => {
  it.live("belong to its user alone", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const data = join(folder, "data")
      const { client, url } = yield* served({ data })
      const { batchId } = yield* client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest: smallManifest as never } })
      yield* batchEnded(client, batchId)
      const form = new FormData()
      form.append("file", new Blob([JSON.stringify([{ id: 1, type: "story" }])], { type: "application/json" }), "items.json")
      assert.strictEqual((yield* request(`${url}/api/v1/uploads`, { method: "POST", body: form })).status, 202)
      assert.deepStrictEqual(yield* sharedIn(data), [])
      const to = join(folder, "backup")
      yield* backup({ database: undefined, data, to, onProgress })
      assert.deepStrictEqual(yield* sharedIn(to), [])
      const restored = join(folder, "restored")
      yield* restore({ from: to, database: undefined, data: restored, onProgress })
      assert.deepStrictEqual(yield* sharedIn(restored), [])
    }),
  )
})
