import { pathToFileURL } from "node:url"
import { FileUri } from "@detent/blobs"
import { Extractions, Knowledge } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

const corpus = "packages/knowledge/corpus"
const uri = (file: string) => FileUri.make(pathToFileURL(`${corpus}/${file}`).href)

const program = Effect.gen(function* () {
  const extractions = yield* Extractions
  const { runId, facts } = yield* extractions.run({
    sourceUri: uri("documents/ada-sol.txt"),
    ontologyUri: uri("ontology.ttl"),
    examplesUri: uri("examples.jsonl"),
  })
  console.log(`${facts} facts, and the quotes that support them:`)
  yield* extractions.lines(runId).pipe(
    Stream.filter((line) => line.includes("<urn:detent:vocabulary:quote>")),
    Stream.runForEach((line) => Effect.sync(() => console.log(line))),
  )
})

const live = Knowledge.layerEmbedded({ folder: process.argv[2] ?? "data", readable: [corpus], nodeId: "reader" })

await Effect.runPromise(Effect.provide(program, live))
