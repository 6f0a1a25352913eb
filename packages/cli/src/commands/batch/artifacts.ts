import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { writePieces } from "../../output/Writing.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { batch } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "batch artifacts",
    summary: "list the files that a batch has stored, or print or download one",
    detail: "Artifacts are the manifest, the extraction of each document, the resolved graph, and the validation report.",
    arguments: [batch, { name: "artifact", summary: "a name of the list; prints its content unchanged", optional: true }],
    options: [
      { name: "output", kind: "text", value: "FILE", summary: "write the content to this file. Default: stdout", complete: "file" },
    ],
    examples: [
      { line: "detent batch artifacts batch-3f9c2a71b0d4", says: "names and sizes" },
      {
        line: "detent batch artifacts batch-3f9c2a71b0d4 validation/report.json --output report.json",
        says: "writes one artifact to a file",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const id = yield* batchIdOf(input.batch)
      const { artifact: name, output: file } = input
      if (name === undefined) {
        if (file !== undefined)
          return yield* new WrongUsage({ problem: "--output needs an artifact", nextStep: `name one of \`detent batch artifacts ${id}\`` })
        const { artifacts: listed } = yield* operations.artifacts(id)
        return yield* output.rows(
          listed,
          [
            { title: "ARTIFACT", of: ({ name: one }) => one },
            { title: "BYTES", of: ({ bytes }) => bytes },
          ],
          `${id} has stored nothing yet`,
        )
      }
      const { bytes, content } = yield* operations.artifact(id, name)
      if (file === undefined) return yield* Stream.runForEach(content, output.writeBytes)
      yield* writePieces(file, content)
      yield* output.value({ batchId: id, artifact: name, bytes, file }, () => "")
      yield* output.note(`${file} written: ${bytes} bytes`)
    }).pipe(Effect.provide(observing(input))),
)
