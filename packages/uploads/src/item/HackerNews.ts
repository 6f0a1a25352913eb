/** Items of Hacker News, the built-in upload. They have their own machine, table and hand-written reader. */
import { unknownKeyText } from "@detent/entity"
import { definitionOf, itemKind } from "../UploadDefinition.ts"
import { HNItem } from "./HNItem.ts"
import { searchText } from "./PlainText.ts"
import { identify, readValue } from "./ReadItem.ts"

const fields = ["type", "by"] as const

export const HackerNews = definitionOf(
  {
    ...itemKind({ name: "HackerNews", schema: HNItem, id: "hnId", index: { text: searchText, fields, time: "time" } }),
    machine: "HNItem",
    storage: "items",
    idOf: (item) => (item as HNItem).hnId,
    identify: (item) => identify(item as HNItem),
    read: readValue,
    // `id` is the name of the public API.
    unknownKeys: (value) => {
      const known = ["id", ...Object.keys(HNItem.fields)]
      const unknown = Object.keys(value).filter((key) => !known.includes(key))
      return unknown.length === 0 ? undefined : unknown.map((key) => unknownKeyText(key, known)).join("; ")
    },
    // The item is plain data, and its table has a column for each field.
    contentOf: (item) => item,
    jsonOf: (content) => JSON.stringify(content),
  },
  HNItem,
  fields,
)
