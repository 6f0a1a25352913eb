import type { EntryState } from "@detent/uploads"
import * as operations from "@detent/workspace/operations/uploads"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { NothingFound } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { itemProblem, uploadText } from "../../upload/UploadView.ts"
import { uploads as opening, type Place, placeText } from "../../workspace/Opening.ts"
import { paging, upTo } from "../shared.ts"
import { findUpload, itemNumber, noteUnfinished, numberOf, upload } from "./shared.ts"

const { observing } = opening

export default command(
  {
    name: "upload show",
    summary: "one upload: state, counts, reasons of refused items",
    arguments: [upload],
    options: [
      {
        name: "items",
        kind: "text",
        value: "WHICH",
        choices: ["stored", "failed", "processing"],
        summary: "also list its items in this state",
      },
      { name: "reason", kind: "text", value: "KIND", summary: "with --items failed: only items that failed for this reason" },
      { name: "item", kind: "text", value: "N", summary: "instead show the content of this item, as its file or a correction has it" },
      ...paging,
    ],
    examples: [
      { line: "detent upload show batch-09ab41cc02 --items failed", says: "each refused item, with its line and reason" },
      { line: "detent upload show batch-09ab41cc02 --item 17 > item.json", says: "the refused item, to edit it and correct it" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      if (input.item !== undefined) return yield* showItem(input, yield* itemNumber(input.item))
      const output = yield* Output
      const status = yield* findUpload(input.upload)
      const items = input.items === undefined ? undefined : yield* itemsOf(input, input.items)
      yield* output.value({ ...status, ...(items === undefined ? {} : { listed: items.items, ...optional({ next: items.next }) }) }, () =>
        uploadText(status, output.style),
      )
      yield* noteUnfinished(input, [status])
      if (output.isJson || items === undefined) return
      yield* output.write("\n")
      yield* output.rows(
        items.items,
        [
          { title: "ITEM", of: ({ index }) => index },
          { title: "LINE", of: ({ line }) => line },
          { title: "STATE", of: ({ state }) => state },
          { title: "ID", of: ({ id }) => id ?? "" },
          { title: "TRIES", of: ({ attempts }) => attempts },
          { title: "PROBLEM", of: itemProblem },
        ],
        input.reason === undefined ? `no item is ${input.items}` : `no item failed for ${input.reason}`,
      )
      if (items.next !== undefined) yield* output.note(`more with --after ${items.next}`)
    }).pipe(Effect.provide(observing(input))),
)

/** Writes the content to stdout, exactly as it is stored, and what became of the item to stderr. */
const showItem = ({ upload: id, ...place }: Place & { readonly upload: string }, index: number) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { history: _, ...found } = yield* operations.history(id, index)
    const { source, line, state } = found
    if (source === undefined && !output.isJson)
      return yield* new NothingFound({
        what: `content of item ${index} of ${id}`,
        nextStep: "it is too large or not text, and was not kept; see its line in the file",
      })
    const problem = itemProblem(found)
    const outcome = [...(found.correctedAt === undefined ? [state] : []), ...(problem === "" ? [] : [problem])].join("; ")
    yield* output.value(found, () => `${source}\n`)
    yield* output.note(output.noteStyle.dim(`item ${index}, line ${line}: ${outcome}`))
    if (state !== "failed") return
    yield* output.note(output.noteStyle.dim(`Correct it: detent upload correct ${id} ${index} --with '{…}'${placeText(place)}`))
  })

interface ItemsAsked {
  readonly upload: string
  readonly limit: number
  readonly after: string | undefined
  readonly reason: string | undefined
}

const itemsOf = ({ upload: id, limit, after, reason }: ItemsAsked, state: EntryState) =>
  Effect.gen(function* () {
    return yield* upTo(limit, (yield* numberOf(after)).after, (most, from) =>
      operations.items(id, { state, limit: most, ...optional({ after: from, reason }) }),
    )
  })
