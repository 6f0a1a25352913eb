/** A process of its own that uses a folder as storage, for the tests to watch and to kill. */

import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { folderOf } from "../src/file/FileBlobs.ts"
import * as FileStorage from "../src/file/FileStorage.ts"
import { contentHashOf } from "../src/storage/ContentHash.ts"
import { blobIn } from "../src/storage/Storage.ts"
import { countUp } from "../testing/storageContention.ts"

const [task, root] = process.argv.slice(2) as [string, string]

const program = Effect.gen(function* () {
  const storage = yield* FileStorage.make({ root })
  const folder = folderOf(root)
  if (task === "count") return yield* Effect.replicateEffect(countUp(storage, blobIn(folder, "count")), 50, { discard: true })
  if (task === "fill") {
    const full = yield* Effect.flip(storage.set(blobIn(folder, "big"), new Uint8Array(4_000_000)))
    return console.log(`${full._tag}: ${full.message}`)
  }
  // Until killed: blobs whose first line is the hash of what follows.
  console.log("started")
  for (let round = 0; ; round++) {
    const body = `${round}\n`.repeat(20_000 + (round % 7) * 5_000)
    yield* Effect.forEach([0, 1, 2, 3], (slot) => storage.set(blobIn(folder, `slot/${slot}`), `${contentHashOf(body)}\n${body}`), {
      concurrency: 4,
    })
  }
}).pipe(Effect.scoped)

Effect.runPromise(program).catch((error: unknown) => {
  console.error(describe(error))
  process.exitCode = 1
})
