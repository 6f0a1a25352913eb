import { type BatchChanges, type DiffFact, localName } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { WrongUsage } from "../../Failure.ts"
import { chooseGraph, versionIn } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import type { Style } from "../../output/Style.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph diff",
    summary: "the facts that a batch added and removed, or the difference between two versions, by document",
    arguments: [{ name: "batch", summary: "the batch's id, as `detent batch list` shows it; or --from", optional: true }],
    options: [
      { name: "from", kind: "text", value: "VERSION", summary: "compare this version, as `detent graph versions` shows it" },
      { name: "to", kind: "text", value: "VERSION", summary: "with this version. Default: the current version" },
      namespace,
      { name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "at most this many added and removed facts" },
    ],
    examples: [
      { line: "detent graph diff batch-3f9c2a71b0d4 --json", says: "one JSON value, with the words that state each fact" },
      { line: "detent graph diff --from 3f9c2a71b0d41122", says: "the changes since that version" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const from = yield* versionIn("--from", input.from)
      const to = yield* versionIn("--to", input.to)
      if ((input.batch === undefined) === (from === undefined))
        return yield* new WrongUsage({
          problem: "nothing to compare was named",
          nextStep: "name a batch of `detent batch list`, or with --from a version of `detent graph versions`",
        })
      const changed =
        from === undefined
          ? yield* batches.changes(yield* batchIdOf(input.batch ?? ""), input.limit)
          : yield* explore.diff((yield* chooseGraph(input.namespace)).namespace, from, to, input.limit)
      yield* output.value(changed, () => diffText(changed, output.style))
    }).pipe(Effect.provide(observing(input))),
)

/** Each document with its added and removed facts. */
const diffText = ({ namespace, added, removed, documents }: Omit<BatchChanges, "batchId">, style: Style): string => {
  const head = `${namespace}: ${counted(added, "fact")} added, ${removed} removed, in ${counted(documents.length, "document")}\n`
  const bodies = documents.map((document) =>
    [
      style.bold(document.source ?? document.documentId),
      ...document.added.map((fact) => style.green(`  + ${factText(fact)}`)),
      ...document.removed.map((fact) => style.red(`  - ${factText(fact)}`)),
      "",
    ].join("\n"),
  )
  const listed = documents.reduce((sum, one) => sum + one.added.length + one.removed.length, 0)
  const rest = added + removed - listed
  return [head, ...bodies, rest === 0 ? "" : `and ${rest} more; raise --limit to see them\n`].join("")
}

const factText = ({ subject, subjectLabel, property, object, objectLabel, quote }: DiffFact): string =>
  `${subjectLabel ?? subject} | ${localName(property)} | ${objectLabel ?? object}   "${quote.replace(/\s+/g, " ")}"`
