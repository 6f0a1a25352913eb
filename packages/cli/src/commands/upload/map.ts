import { writeFileSync } from "node:fs"
import { formatText } from "@detent/tables/TableFormat"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { previewText } from "../../upload/MappingView.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { uploads as opening, placeText } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { isFile } from "./shared.ts"
import { givenTable, mappingOption, readMapping, tableOptions } from "./table.ts"

const { observed } = opening

export default command(
  {
    name: "upload map",
    summary: "show which columns of a file become which fields, and what would fail; nothing is stored",
    detail:
      "Reads the first rows by the mapping that is kept for the kind, by that of its definition, or by one that is proposed from the names\n" +
      "and values of the columns. Write it to a file, edit it, look again with --mapping, then upload with it or keep it for the kind.\n" +
      "Exits with 5 if one of these rows would fail.",
    arguments: [{ name: "file", summary: "a local file", complete: "file" }],
    options: [
      { name: "kind", kind: "text", value: "NAME", summary: "the kind of its items. Default: the first upload of the configuration" },
      mappingOption,
      {
        name: "locale",
        kind: "text",
        value: "LOCALE",
        summary: "the locale of numbers and dates, such as de-DE. Default: found by the values",
      },
      { name: "rows", kind: "integer", value: "N", default: 100, minimum: 1, summary: "read this many rows; the maximum is 1000" },
      { name: "write", kind: "text", value: "FILE", summary: "write the mapping to this file, as JSON", complete: "file" },
      { name: "keep", kind: "flag", summary: "keep the mapping for later files of the kind" },
      ...tableOptions,
      keyOption,
    ],
    examples: [
      { line: "detent upload map products.csv --kind Products --write mapping.json", says: "a proposal, to edit" },
      { line: "detent upload map products.csv --kind Products --mapping mapping.json --keep", says: "used for later files of the kind" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* isFile(input.file)
      const given = yield* givenTable(input)
      const mapping = yield* readMapping(input.mapping)
      const { kind, locale, rows } = input
      const preview = yield* operations.previewHere(input.file, { kind, locale, rows, given, mapping })
      yield* output.value(preview, () => previewText(preview, formatText(preview.table), output.style))
      if (preview.problems.length > 0) return ExitCode.failed
      if (input.write !== undefined) yield* writeMapping(input.write, preview.mapping)
      const here = placeText(input)
      const file = input.write ?? (input.mapping === "none" ? undefined : input.mapping)
      if (input.keep) {
        const change = { operation: "uploads.keepMapping", params: { kind: preview.kind }, json: preview.mapping, key: input.key }
        yield* changedHere(change, operations.keepMapping(preview.kind, preview.mapping))
        yield* output.note(
          `the mapping is kept for later files of ${preview.kind}; see it with: detent upload mapping ${preview.kind}${here}`,
        )
      }
      if (preview.failing > 0 && preview.failing === preview.rows.length) {
        const written = file === undefined ? "write the mapping with --write FILE, correct it" : "correct the mapping"
        const next = `detent upload map ${input.file} --kind ${preview.kind} --mapping ${file ?? "FILE"}${here}`
        yield* output.note(`none of these rows would be stored; ${written}, or the file, and look again with: ${next}`)
        return ExitCode.inPart
      }
      const isUsed = input.keep || preview.source === "kept" || preview.source === "definition" || preview.mapping.fields.length === 0
      const how = isUsed ? "" : ` --mapping ${file ?? "FILE"}`
      const first = isUsed || file !== undefined ? "" : "Write it with --write FILE, then upload"
      const run = `detent upload run ${input.file} --kind ${preview.kind}${how}${here}`
      yield* output.note(output.noteStyle.dim(`${first === "" ? "Upload" : first} with: ${run}`))
      return preview.failing > 0 ? ExitCode.inPart : ExitCode.ok
    }).pipe(Effect.provide(observed(input))),
)

const writeMapping = (file: string, mapping: unknown): Effect.Effect<void, WrongUsage> =>
  Effect.try({
    try: () => writeFileSync(file, `${JSON.stringify(mapping, undefined, 2)}\n`),
    catch: (cause) => new WrongUsage({ problem: `${file} cannot be written: ${String(cause)}`, nextStep: "name another file" }),
  })
