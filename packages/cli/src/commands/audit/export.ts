import { audit } from "@detent/workspace/operations/access"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { command } from "../../line/Command.ts"
import { momentOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { writePieces } from "../../output/Writing.ts"
import { observing } from "../../workspace/Opening.ts"
import { filters } from "./shared.ts"

const pageSize = 1000

export default command(
  {
    name: "audit export",
    summary: "the whole audit log as lines of JSON, newest first",
    arguments: [],
    options: [
      ...filters,
      { name: "output", kind: "text", value: "FILE", summary: "write to this file. Default: stdout", complete: "file" },
    ],
    examples: [{ line: "detent audit export --since 2026-11-01 --output november.jsonl", says: "for an archive" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { actor, operation, output: file } = input
      const since = yield* momentOf("since", input.since)
      const lines = Stream.paginate(undefined as number | undefined, (before) =>
        Effect.map(
          audit({ actor, operation, since, before, limit: pageSize }),
          ({ entries, next }) => [entries.map((entry) => `${JSON.stringify(entry)}\n`), Option.fromUndefinedOr(next)] as const,
        ),
      )
      if (file === undefined) return yield* Stream.runForEach(lines, output.write)
      yield* writePieces(file, lines)
      yield* output.value({ file }, () => "")
      yield* output.note(`${file} written`)
    }).pipe(Effect.provide(observing(input))),
)
