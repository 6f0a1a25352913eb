/** The definition of generated items: the posts of a forum. */
import * as Schema from "effect/Schema"
import { defineUpload } from "../kind/UploadDefinition.ts"
import { plainText } from "./PlainText.ts"

const id = Schema.Int.check(Schema.isGreaterThan(0))

export const Post = Schema.Struct({
  id,
  type: Schema.Literals(["story", "comment", "job", "poll", "pollopt"]),
  /** The author. */
  by: Schema.optionalKey(Schema.String),
  /** In seconds since 1970. */
  time: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** HTML. */
  text: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  /** HTML. */
  title: Schema.optionalKey(Schema.String),
  score: Schema.optionalKey(Schema.Int),
  /** The ids of its comments. */
  kids: Schema.optionalKey(Schema.Array(id)),
  /** The post that a comment answers. */
  parent: Schema.optionalKey(id),
  /** The number of all comments below the post. */
  descendants: Schema.optionalKey(Schema.Int),
  deleted: Schema.optionalKey(Schema.Boolean),
  dead: Schema.optionalKey(Schema.Boolean),
  /** The options of a poll. */
  parts: Schema.optionalKey(Schema.Array(id)),
  /** The poll of an option. */
  poll: Schema.optionalKey(id),
})
export type Post = typeof Post.Type

export const Posts = defineUpload({
  name: "Posts",
  schema: Post,
  id: "id",
  index: {
    text: ({ title, text }: Post) => [title, text].flatMap((html) => (html === undefined ? [] : [plainText(html)])).join(" "),
    fields: ["type", "by"],
    time: "time",
  },
})
