import * as graph from "@detent/workspace/operations/graph"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import { writePieces } from "../../output/Writing.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph report",
    summary: "show documents with their facts marked in the text",
    detail:
      "Writes one HTML file that needs no network: each document with its accepted facts, the facts for review, and the quarantined facts.",
    arguments: [],
    options: [
      namespace,
      versionOption,
      { name: "html", kind: "flag", summary: "as HTML, which is the default and the only format" },
      { name: "out", kind: "text", value: "FILE", default: "report.html", summary: "the file to write; - is stdout", complete: "file" },
      { name: "batch", kind: "text", value: "ID", summary: "only documents that this batch extracted" },
      { name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "at most this many documents" },
    ],
    examples: [{ line: "detent graph report --html --out report.html", says: "then open it in a browser" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const batch = input.batch === undefined ? undefined : yield* batchIdOf(input.batch)
      const { pieces, documents, documentsTotal } = yield* graph.report(version, { batch, limit: input.limit })
      if (input.out === "-") return yield* Stream.runForEach(pieces, output.write)
      yield* writePieces(input.out, pieces, "out")
      yield* output.value({ namespace: version.namespace, version: version.version, file: input.out, documents, documentsTotal }, () => "")
      const rest = documentsTotal - documents
      yield* output.note(
        `${input.out} written: ${counted(documents, "document")}${rest === 0 ? "" : `; ${rest} more with a larger --limit`}`,
      )
    }).pipe(Effect.provide(observing(input))),
)
