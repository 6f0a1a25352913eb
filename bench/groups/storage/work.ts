/** Writes and reads back blobs: `node work.ts LOCATION URL artifacts|large AMOUNT`. Prints its time and peak memory. */

import { startHash } from "@detent/blobs/ContentHash"
// Not from the package's index, which would load all of it: memory is measured here.
import { blobIn, ifAbsent } from "@detent/blobs/Storage"
import { folderAt, make } from "@detent/blobs/StorageLocation"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const [location = "", url = "", task = "", amount = ""] = process.argv.slice(2)
Object.assign(process.env, {
  STORAGE_EMULATOR_HOST: url,
  AWS_ENDPOINT_URL_S3: url,
  AWS_ACCESS_KEY_ID: "AKIDBENCH",
  AWS_SECRET_ACCESS_KEY: "secret",
})

const folder = folderAt(location)
const count = Number(amount)

/** Artifacts like those of a document's run: some kilobytes of JSON each. */
const artifacts = Effect.gen(function* () {
  const storage = yield* make({ location })
  const content = new Uint8Array(8000)
  const uris = Array.from({ length: count }, (_, index) => blobIn(folder, `runs/${index % 10}/artifact-${index}.json`))
  yield* Effect.forEach(uris, (uri) => storage.set(uri, content, ifAbsent), { concurrency: 16, discard: true })
  yield* Effect.forEach(uris, (uri) => storage.get(uri), { concurrency: 16, discard: true })
})

const pieceSize = 64 * 1024

/** One blob of this many megabytes, as a stream both ways. */
const large = Effect.gen(function* () {
  const storage = yield* make({ location })
  const uri = blobIn(folder, "large.bin")
  // One piece at a time, like a file or a connection.
  const numbers = Stream.rechunk(Stream.range(1, (count * 1024 * 1024) / pieceSize), 1)
  const pieces = Stream.map(numbers, (number) => new Uint8Array(pieceSize).fill(number % 251))
  const { hash, size } = yield* storage.setStream(uri, pieces, ifAbsent)
  const read = startHash()
  let length = 0
  yield* Stream.runForEach(storage.getStream(uri), (piece) =>
    Effect.sync(() => {
      read.update(piece)
      length += piece.byteLength
    }),
  )
  if (length !== size || read.end() !== hash) return yield* Effect.die(new Error("the bytes read differ from the bytes written"))
})

const began = performance.now()
await Effect.runPromise(Effect.scoped(task === "large" ? large : artifacts))
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, peakRssMb: process.resourceUsage().maxRSS / 1000 }))
