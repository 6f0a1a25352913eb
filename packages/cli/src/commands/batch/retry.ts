import { DocumentId } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { restart, restartOptions } from "./restart.ts"
import { batch } from "./shared.ts"

export default command(
  {
    name: "batch retry",
    summary: "retry a failed batch, in this process or on the running server",
    arguments: [batch],
    options: [
      { name: "documents", kind: "text", value: "ID,ID", summary: "the failed documents to retry. Default: all" },
      ...restartOptions,
    ],
    examples: [
      { line: "detent batch retry batch-3f9c2a71b0d4", says: "documents that are done are not read again" },
      { line: "detent batch retry batch-3f9c2a71b0d4 --documents doc-3f9c2a71b0d4", says: "retries one failed document" },
    ],
  },
  (input) => Effect.flatMap(documentsIn(input.documents), (documents) => restart(input, "retry", documents)),
)

const documentsIn = (text: string | undefined): Effect.Effect<ReadonlyArray<DocumentId> | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  const documents = Schema.decodeUnknownOption(Schema.Array(DocumentId))(text.split(",").map((one) => one.trim()))
  return Option.isSome(documents)
    ? Effect.succeed(documents.value)
    : Effect.fail(
        new WrongUsage({
          problem: `--documents ${text} are not ids of documents`,
          nextStep: "see `detent batch show ID --documents failed --json`",
        }),
      )
}
