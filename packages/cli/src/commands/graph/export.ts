import { CanonicalGraph, exportGraph as exported } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { writePieces } from "../../output/Writing.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph export",
    summary: "export the graph for other programs",
    arguments: [],
    options: [
      namespace,
      versionOption,
      {
        name: "format",
        kind: "text",
        value: "FORMAT",
        choices: ["turtle", "ntriples", "jsonld", "nquads", "entities", "relations"],
        default: "turtle",
        summary: "entities and relations are tables (CSV); nquads has a named graph for each document",
      },
      { name: "facts-only", kind: "flag", summary: "without where facts come from: no statements and no documents" },
      { name: "output", kind: "text", value: "FILE", summary: "write to this file. Default: stdout", complete: "file" },
    ],
    examples: [{ line: "detent graph export --format relations --output relations.csv", says: "for a spreadsheet" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const version = yield* chooseVersion(input)
      const { lines } = yield* CanonicalGraph.CanonicalGraph
      const pieces = exported(lines(version), input.format, { isFactsOnly: input["facts-only"] })
      const { output: file } = input
      if (file === undefined) return yield* Stream.runForEach(pieces, output.write)
      yield* writePieces(file, pieces)
      yield* output.value({ namespace: version.namespace, version: version.version, format: input.format, file }, () => "")
      yield* output.note(`${file} written`)
    }).pipe(Effect.provide(observing(input))),
)
