/** Reads a large document as a stream and says how much text there was, and how much memory it took at most. */
import { existsSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"
import { FileStorage } from "@detent/blobs"
import { StorageUri } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { streamStored } from "../../src/document/DocumentReader.ts"

/** What the system notes of this program alone: the usual figure also counts what its parent had when it was started. */
const peakKilobytes = (): number => {
  const status = "/proc/self/status"
  const own = existsSync(status) ? /VmHWM:\s*(\d+)/.exec(readFileSync(status, "utf8"))?.[1] : undefined
  return own === undefined ? process.resourceUsage().maxRSS : Number(own)
}

const path = process.argv[2] ?? ""
const uri = Schema.decodeUnknownSync(StorageUri)(pathToFileURL(path).href)

const program = Effect.gen(function* () {
  const storage = yield* FileStorage.make({ root: dirname(path) })
  const characters = yield* Stream.runFold(
    streamStored(storage, uri),
    () => 0,
    (sum, piece) => sum + piece.length,
  )
  console.log(JSON.stringify({ characters, megabytes: peakKilobytes() / 1000 }))
}).pipe(Effect.scoped)

Effect.runPromise(program).catch((error: unknown) => console.error(error))
