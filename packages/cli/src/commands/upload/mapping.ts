import { type Mapping, MappingRefused } from "@detent/uploads"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { tableText } from "../../output/Table.ts"
import { ruleColumns } from "../../upload/MappingView.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { uploads as opening } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { readMapping } from "./table.ts"

const { observed } = opening

/** Changes the database directly, without a server: each upload reads the mapping when it starts. */
export default command(
  {
    name: "upload mapping",
    summary: "show, keep or forget the mapping of columns to fields of a kind",
    detail:
      "Later files of the kind that have one of its columns are read by the mapping. `detent upload map FILE` finds one and shows what it\n" +
      "makes of a file. A file that the mapping does not fit is refused; `detent upload run --mapping none` reads it without one.",
    arguments: [{ name: "kind", summary: "the kind of items, as `detent upload kinds` shows it" }],
    options: [
      { name: "keep", kind: "text", value: "FILE", summary: "keep the mapping in this file of JSON", complete: "file" },
      { name: "forget", kind: "flag", summary: "forget the mapping" },
      keyOption,
    ],
    examples: [
      { line: "detent upload mapping Products", says: "the mapping that is kept" },
      { line: "detent upload mapping Products --keep mapping.json", says: "used for later files" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { kind, key } = input
      if (input.keep !== undefined && input.forget)
        return yield* new WrongUsage({ problem: "--keep and --forget exclude each other", nextStep: "give one of them" })
      if (input.forget) {
        yield* changedHere({ operation: "uploads.forgetMapping", params: { kind }, key }, operations.forgetMapping(kind))
        return yield* output.value({ kind }, () => `${kind} has no mapping of its own now\n`)
      }
      if (input.keep !== undefined) {
        const mapping = yield* mappingOf(kind, input.keep)
        const change = { operation: "uploads.keepMapping", params: { kind }, json: mapping, key }
        yield* changedHere(change, operations.keepMapping(kind, mapping))
      }
      const kept: { readonly kind: string; readonly mapping?: Mapping } = yield* operations.keptMapping(kind)
      yield* output.value(kept, () =>
        kept.mapping === undefined
          ? `no mapping is kept for ${kind}\n`
          : tableText(kept.mapping.fields, ruleColumns(kept.mapping), output.style),
      )
    }).pipe(Effect.provide(observed(input))),
)

const mappingOf = (kind: string, file: string) =>
  Effect.flatMap(readMapping(file), (mapping) =>
    mapping === "none" || mapping === undefined
      ? Effect.fail(
          new MappingRefused({ target: kind, problems: ["none is no mapping to keep"], next: "forget the kept one with --forget" }),
        )
      : Effect.succeed(mapping),
  )
