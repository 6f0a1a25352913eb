import { isAbsolute, resolve } from "node:path"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { ExitCode } from "../../ExitCode.mjs"
import { WrongUsage } from "../../Failure.ts"
import { fieldsOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { uploads as opening, type Place, placeText } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { findUpload, itemNumber, upload } from "./shared.ts"
import { givenTable, tableOptions } from "./table.ts"

const { observing } = opening

/** Changes the database directly, without a server: a retry reads the content of the item from the database. */
export default command(
  {
    name: "upload correct",
    summary: "replace the content of refused items for the next retry, of one or from a file; invalid content is refused again",
    detail:
      "The file of --from is what `detent upload failures` wrote, corrected: CSV, XLSX, JSON or JSON lines. Of a table, rows and columns\n" +
      "may be left out, except detent:item. Rows that are refused are listed with their line. The same file again changes nothing.",
    arguments: [upload, { name: "item", summary: "the item's number, as `detent upload show --items failed` shows it", optional: true }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the complete item" },
      { name: "from", kind: "text", value: "FILE", summary: "instead of one item: a file of corrected items", complete: "file" },
      ...tableOptions,
      keyOption,
    ],
    examples: [
      {
        line: `detent upload correct batch-3f9c2a71b0d4e5f6 17 --with '{"id":"lathe-7","brand":"Acme","price":12.5}'`,
        says: "then: detent upload retry",
      },
      { line: "detent upload correct batch-3f9c2a71b0d4e5f6 --from fixed.csv", says: "exits with 5 if some rows were refused" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      if (input.from === undefined) return yield* correctOne(input)
      if (input.item !== undefined || input.with !== undefined)
        return yield* new WrongUsage({
          problem: "--from corrects many items, and the command names one",
          nextStep: "give --from, or the number of an item and --with",
        })
      if (input.key !== undefined)
        return yield* new WrongUsage({
          problem: "--key is for the correction of one item",
          nextStep: "leave it out: the same file again changes nothing",
        })
      return yield* correctMany(input, input.from, yield* givenTable(input))
    }).pipe(Effect.provide(observing(input))),
)

interface Asked extends Place {
  readonly upload: string
  readonly item: string | undefined
  readonly with: string | undefined
  readonly key: string | undefined
}

const correctOne = (input: Asked) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (input.item === undefined)
      return yield* new WrongUsage({
        problem: "the item is missing",
        nextStep: "give its number and --with, or a file of corrected items with --from",
      })
    if (input.with === undefined)
      return yield* new WrongUsage({
        problem: "the item is missing",
        nextStep: `give the complete item with --with; see it with: detent upload show ${input.upload} --item ${input.item}`,
      })
    const item = yield* fieldsOf(input.with)
    const index = yield* itemNumber(input.item)
    const change = { operation: "uploads.correct", params: { batchId: input.upload, index }, json: item, key: input.key }
    yield* changedHere(change, operations.correct(input.upload, index, item))
    yield* output.value({ batchId: input.upload, item: index }, () => `item ${index} of ${input.upload} has new content\n`)
    yield* output.note(output.noteStyle.dim(`Retry it: detent upload retry ${input.upload}${placeText(input)}`))
    return undefined
  })

type Given = Parameters<typeof operations.correctFrom>[2]

const correctMany = (input: Place & { readonly upload: string }, file: string, given: Given) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* findUpload(input.upload)
    const report = yield* operations.correctFrom(input.upload, isAbsolute(file) ? file : resolve(file), given)
    const { corrected, unchanged, refused, refusals } = report
    yield* output.value(
      { batchId: input.upload, ...report },
      () => `corrected  ${corrected}\nunchanged  ${unchanged}\nrefused    ${refused}\n`,
    )
    if (!output.isJson) for (const { line, message } of refusals) yield* output.note(`line ${line}: ${message}`)
    if (refused > refusals.length) yield* output.note(`and ${refused - refusals.length} more`)
    if (corrected > 0) yield* output.note(output.noteStyle.dim(`Retry them: detent upload retry ${input.upload}${placeText(input)}`))
    return refused === 0 ? ExitCode.ok : ExitCode.inPart
  })
