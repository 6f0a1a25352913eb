/** A process that works on one batch of the documents in a folder, in the home it is given. It prints the batch's id once it is started. */
import { pathToFileURL } from "node:url"
import { Batches, ManifestFile, StorageFolder } from "@detent/knowledge"
import { Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const [, , data = "", documents = "", count = "0"] = process.argv
const manifest = Schema.decodeUnknownSync(ManifestFile)({
  targetNamespace: "coast",
  ontology: "ontology.ttl",
  examples: "examples.jsonl",
  documents: Array.from({ length: Number(count) }, (_, index) => ({ source: `${index}.txt` })),
})

const program = Effect.gen(function* () {
  const batches = yield* Batches
  const id = yield* batches.start(StorageFolder.make(`${pathToFileURL(documents).href}/`), manifest)
  console.log(JSON.stringify({ batchId: id }))
  yield* batches.awaitEnd(id)
  // What it told last is still on its way to the log.
  return yield* Effect.never
})
process.stdin.on("end", () => process.exit()).resume()
await Effect.runPromise(Effect.provide(program, Workspace.open({ data, role: "work", readable: [documents], knowledge: {} })))
