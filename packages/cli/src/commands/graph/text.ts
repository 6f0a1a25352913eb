import { DocumentId } from "@detent/knowledge"
import * as explore from "@detent/workspace/operations/graphExplore"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../../Failure.ts"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph text",
    summary: "a part of the extracted text of a document",
    arguments: [{ name: "document", summary: "the document's id, as `detent graph provenance --json` shows it" }],
    options: [
      namespace,
      versionOption,
      {
        name: "start",
        kind: "integer",
        value: "N",
        default: 0,
        minimum: 0,
        summary: "the first character; the output includes some text before it",
      },
      { name: "end", kind: "integer", value: "N", minimum: 0, summary: "the last character; the output includes some text after it" },
    ],
    examples: [{ line: "detent graph text doc-3f9c2a71b0d4 --start 1200 --end 1400", says: "the words around a quote" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const id = Schema.decodeUnknownOption(DocumentId)(input.document)
      if (Option.isNone(id))
        return yield* new WrongUsage({
          problem: `${input.document} is not an id of a document`,
          nextStep: "see `detent graph provenance --json`",
        })
      const version = yield* chooseVersion(input)
      const found = yield* explore.documentText(version, id.value, { start: input.start, ...optional({ end: input.end }) })
      yield* output.value(found, () => `${found.text}\n`)
      if (found.matchesRun === false) yield* output.note("the source has changed since it was extracted")
      if (found.text.length < found.length)
        yield* output.note(`characters ${found.from} to ${found.from + found.text.length} of ${found.length}`)
    }).pipe(Effect.provide(observing(input))),
)
