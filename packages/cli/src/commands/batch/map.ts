import { writeFileSync } from "node:fs"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import { anyNamespace, readBySource, sourceOf } from "../../batch/BatchSource.ts"
import { mappingText } from "../../batch/MappingView.ts"
import { ExitCode } from "../../ExitCode.mjs"
import { messageOf, WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"

const { estimating } = knowledge

export default command(
  {
    name: "batch map",
    summary: "show which facts tables and JSON give, and propose a mapping; nothing is stored",
    detail:
      "Reads the first records of each kind of file: CSV, TSV, XLSX, JSON, JSON lines, tables in HTML and Markdown, and front matter.\n" +
      "Without --mapping, and where the manifest names none, it proposes a mapping from the names and values of the columns. Write it to a\n" +
      "file, edit it, look again with --mapping, then run the batch with it. Columns without a rule are counted, and never guessed.\n" +
      "Exits with 5 if the mapping cannot be used, or gives no fact.",
    arguments: [{ name: "source", summary: "a folder, a bucket folder (gs://, s3://) or a manifest.json", complete: "file" }],
    options: [
      {
        name: "ontology",
        kind: "text",
        value: "FILE",
        summary: "the ontology: classes and properties; for a folder without a manifest",
        complete: "file",
      },
      {
        name: "mapping",
        kind: "text",
        value: "FILE",
        summary: "the mapping to show. Default: that of the manifest, else a proposal",
        complete: "file",
      },
      { name: "records", kind: "integer", value: "N", default: 100, minimum: 1, summary: "read this many records of each kind of file" },
      { name: "write", kind: "text", value: "FILE", summary: "write the mapping to this file, as YAML", complete: "file" },
    ],
    examples: [
      { line: "detent batch map data --ontology companies.ttl --write mapping.yaml", says: "a proposal, to edit" },
      { line: "detent batch map data --ontology companies.ttl --mapping mapping.yaml", says: "what the edited mapping gives" },
      { line: "detent batch run data --ontology companies.ttl --namespace companies --mapping mapping.yaml", says: "then the batch" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const source = { ...input, namespace: anyNamespace, shapes: undefined, examples: undefined, "keep-missing": false }
      const read = yield* readBySource(source)
      const preview = yield* Effect.provide(
        Effect.flatMap(sourceOf(source), (start) => operations.previewMapping(start, { records: input.records })),
        estimating(input, [read.folder, ...read.files]),
      )
      yield* output.value(preview, () => mappingText(preview, output.style))
      if (input.write !== undefined) yield* written(input.write, preview.text)
      const facts = preview.tables.reduce((sum, table) => sum + table.facts, 0)
      if (preview.problems.length > 0 || facts === 0) {
        const next =
          preview.problems.length > 0 ? "correct the mapping" : "give the class, the column of names and the properties in a mapping"
        yield* output.note(`${next}, and look again with --mapping FILE`)
        return ExitCode.inPart
      }
      const file = input.write ?? input.mapping
      const graph = input.ontology === undefined ? "" : ` --ontology ${input.ontology} --namespace NAME`
      if (file !== undefined)
        yield* output.note(output.noteStyle.dim(`Use it with: detent batch run ${input.source}${graph} --mapping ${file}`))
      else if (preview.source === "proposed") yield* output.note(output.noteStyle.dim("Write it with --write FILE, and check it"))
      return ExitCode.ok
    }),
)

const written = (file: string, text: string): Effect.Effect<void, WrongUsage> =>
  Effect.try({
    try: () => writeFileSync(file, text),
    catch: (cause) => new WrongUsage({ problem: `${file} cannot be written: ${messageOf(cause)}`, nextStep: "name another file" }),
  })
