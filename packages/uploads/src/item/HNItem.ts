/** An item of Hacker News as in its public API: a story, a comment, a job, a poll or an option of a poll. */
import * as Schema from "effect/Schema"

export const itemTypes = ["story", "comment", "job", "poll", "pollopt"] as const

export const ItemType = Schema.Literals(itemTypes)
export type ItemType = typeof ItemType.Type

const id = Schema.Int.check(Schema.isGreaterThan(0))
const ids = Schema.Array(id)

export const HNItem = Schema.Struct({
  /** `id` in the public API; both names are accepted. */
  hnId: id,
  type: ItemType,
  /** The author. */
  by: Schema.optionalKey(Schema.String),
  /** When the item was created, in seconds since 1970. */
  time: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** HTML. */
  text: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  /** HTML. */
  title: Schema.optionalKey(Schema.String),
  score: Schema.optionalKey(Schema.Int),
  /** The ids of its comments. */
  kids: Schema.optionalKey(ids),
  /** The item that a comment answers. */
  parent: Schema.optionalKey(id),
  /** The number of all comments below the item. */
  descendants: Schema.optionalKey(Schema.Int),
  deleted: Schema.optionalKey(Schema.Boolean),
  dead: Schema.optionalKey(Schema.Boolean),
  /** The options of a poll. */
  parts: Schema.optionalKey(ids),
  /** The poll of an option. */
  poll: Schema.optionalKey(id),
})
export type HNItem = typeof HNItem.Type
