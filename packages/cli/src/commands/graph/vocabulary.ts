import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph vocabulary",
    summary: "the classes and properties that a graph uses, most frequent first",
    arguments: [],
    options: [namespace, versionOption],
    examples: [{ line: "detent graph vocabulary", says: "the names that a query can use" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* explore.vocabulary(yield* chooseVersion(input), { timeout: "30 seconds" })
      if (output.isJson) return yield* output.value(found, () => "")
      const rows = [
        ...found.classes.map((one) => ({ kind: "class", ...one })),
        ...found.properties.map((one) => ({ kind: "property", ...one })),
      ]
      yield* output.rows(
        rows,
        [
          { title: "", of: ({ kind }) => kind },
          { title: "USED", of: ({ count }) => count },
          { title: "IRI", of: ({ iri }) => iri },
        ],
        "the graph is empty",
      )
    }).pipe(Effect.provide(observing(input))),
)
