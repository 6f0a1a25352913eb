import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { uploads as opening } from "../../workspace/Opening.ts"

const { observed } = opening

export default command(
  {
    name: "upload kinds",
    summary: "the kinds of uploads: the fields that a search can use, and the SQL view of their items",
    arguments: [],
    options: [],
    examples: [{ line: "detent upload kinds --json", says: "the uploads of detent.config.ts; without a configuration, Items" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const known = yield* operations.kinds
      yield* output.rows(
        known.kinds,
        [
          { title: "KIND", of: ({ name }) => name },
          { title: "DEFAULT", of: ({ isDefault }) => (isDefault ? "yes" : "") },
          { title: "VIEW", of: ({ view }) => view },
          { title: "FIELDS", of: ({ fields }) => fields.join(", ") },
        ],
        "",
      )
    }).pipe(Effect.provide(observed(input))),
)
