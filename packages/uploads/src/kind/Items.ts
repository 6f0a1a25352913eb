/** The built-in kind of uploads: objects with an `id` and any other fields. All their texts are searched for words. */
import * as Schema from "effect/Schema"
import { defineUpload } from "./UploadDefinition.ts"

type Item = { readonly [field: string]: Schema.Json }

const textsIn = (value: Schema.Json): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : []
}

export const Items = defineUpload({
  name: "Items",
  schema: Schema.Record(Schema.String, Schema.Json),
  // A value that is no text and no number is refused when the item is read.
  id: (item: Item) => item["id"] as string | number | undefined,
  index: { text: (item: Item) => textsIn(item).join(" ") },
})
