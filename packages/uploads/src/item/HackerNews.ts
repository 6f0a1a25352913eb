/** Items of Hacker News, the upload that is shipped. They keep the machine and the table they always had, and are read by hand. */
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
  },
  HNItem,
  fields,
)
