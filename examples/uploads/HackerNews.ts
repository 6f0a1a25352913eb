/** The definition of uploads of Hacker News: the items of its public API, whose `id` may also be called `hnId`. */
import { defineUpload } from "@detent/uploads"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

const id = Schema.Int.check(Schema.isGreaterThan(0))

export const HNItem = Schema.Struct({
  hnId: id,
  type: Schema.Literals(["story", "comment", "job", "poll", "pollopt"]),
  /** The author. */
  by: Schema.optionalKey(Schema.String),
  /** In seconds since 1970. */
  time: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** HTML. */
  text: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  score: Schema.optionalKey(Schema.Int),
  /** The ids of its comments. */
  kids: Schema.optionalKey(Schema.Array(id)),
  /** The item that a comment answers. */
  parent: Schema.optionalKey(id),
  /** The number of all comments below the item. */
  descendants: Schema.optionalKey(Schema.Int),
  deleted: Schema.optionalKey(Schema.Boolean),
  dead: Schema.optionalKey(Schema.Boolean),
  /** The options of a poll. */
  parts: Schema.optionalKey(Schema.Array(id)),
  /** The poll of an option. */
  poll: Schema.optionalKey(id),
})
export type HNItem = typeof HNItem.Type

type Given = { readonly [field: string]: Schema.Json }

/** An item as the public API has it, with `id`, or with `hnId`. Exports of databases have null where the API omits a field. */
const FromApi = Schema.Record(Schema.String, Schema.Json).pipe(
  Schema.decodeTo(
    HNItem,
    SchemaTransformation.transform({
      decode: ({ id, ...given }: Given) => {
        const named = Object.entries(id === undefined ? given : { hnId: id, ...given })
        // The schema checks these fields next.
        return Object.fromEntries(named.filter(([, value]) => value !== null)) as unknown as typeof HNItem.Encoded
      },
      encode: (item): Given => ({ ...item }),
    }),
  ),
)

export const HackerNews = defineUpload({
  name: "HackerNews",
  schema: FromApi,
  id: "hnId",
  index: { text: ["title", "text"], fields: ["type", "by"], time: "time" },
  module: import.meta.url,
})
