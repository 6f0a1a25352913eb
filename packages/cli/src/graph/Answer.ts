/** An answer to a SPARQL query as a table. */
import * as Schema from "effect/Schema"
import type { Style } from "../output/Style.ts"
import { tableText } from "../output/Table.ts"

const Binding = Schema.Record(Schema.String, Schema.Struct({ value: Schema.String }))

const AnswerJson = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      head: Schema.Struct({ vars: Schema.Array(Schema.String) }),
      results: Schema.Struct({ bindings: Schema.Array(Binding) }),
    }),
    Schema.Struct({ boolean: Schema.Boolean }),
  ]),
)

/** A table for `select`, yes or no for `ask`; other answers are text already. */
export const answerText = ({ contentType, body }: { readonly contentType: string; readonly body: string }, style: Style): string => {
  if (!contentType.includes("json")) return body
  const answer = Schema.decodeSync(AnswerJson)(body)
  if ("boolean" in answer) return answer.boolean ? "yes\n" : "no\n"
  const { vars } = answer.head
  return tableText(
    answer.results.bindings,
    vars.map((name) => ({ title: name, of: (row: typeof Binding.Type) => row[name]?.value ?? "" })),
    style,
  )
}
