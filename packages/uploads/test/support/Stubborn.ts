/** An upload with items that take for ever or end their process. Each try of such an item adds a character to the file it names. */
import { appendFileSync } from "node:fs"
import * as Schema from "effect/Schema"
// Not the whole package: every worker process loads what this module imports.
import { defineUpload } from "../../src/kind/UploadDefinition.ts"

export const Stubborn = defineUpload({
  name: "Stubborn",
  schema: Schema.Struct({
    id: Schema.String,
    title: Schema.optionalKey(Schema.String),
    does: Schema.optionalKey(Schema.Literals(["loop", "exit", "throw"])),
    tries: Schema.optionalKey(Schema.String),
  }),
  id: "id",
  index: { text: ["title"] },
  module: import.meta.url,
  check: ({ does, tries }) => {
    if (tries !== undefined) appendFileSync(tries, "x")
    if (does === "throw") throw new Error("no such luck")
    if (does === "exit") process.exit(3)
    while (does === "loop");
    return undefined
  },
})
