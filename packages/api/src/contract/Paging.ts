/** Pages of lists: their size, and the cursor of the next page. */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** The maximum size of a page. */
export const pageLimit = 1000

/** A whole number as text in a path or a query. */
const wholeNumber = (pattern: RegExp, expected: string) =>
  Schema.String.check(Schema.isPattern(pattern, { expected })).pipe(
    Schema.decodeTo(Schema.Int, SchemaTransformation.transform<number, string>({ decode: Number, encode: String })),
  )

/** The default size of a page. */
export const pageSize = 100

/** The size of a page. */
export const PageLimit = wholeNumber(/^([1-9]\d{0,2}|1000)$/u, `a whole number from 1 to ${pageLimit}`)

/** The maximum number of entries. */
export const Limit = Schema.optionalKey(PageLimit)

/** The same for pages of short entries. */
export const LongLimit = Schema.optionalKey(wholeNumber(/^([1-9]\d{0,3}|10000)$/u, "a whole number from 1 to 10000"))

/** A boolean in a query. */
export const Flag = Schema.Literals(["true", "false"]).pipe(
  Schema.decodeTo(
    Schema.Boolean,
    SchemaTransformation.transform<boolean, "true" | "false">({
      decode: (text) => text === "true",
      encode: (flag) => (flag ? "true" : "false"),
    }),
  ),
)

/** The paging part of a query: the size of the page, and the cursor after which it begins. */
export const paging = <Cursor extends Schema.Top>(after: Cursor) => ({ limit: Limit, after: Schema.optionalKey(after) })

/** A page: its entries, and the cursor of the next page. The last page has no cursor. */
export const pageOf = <Items extends Schema.Struct.Fields, Cursor extends Schema.Top>(items: Items, next: Cursor) =>
  Schema.Struct({ ...items, next: Schema.optionalKey(next) })

/** A time in milliseconds since 1970, or another count from 0 on. */
export const Count = wholeNumber(/^\d{1,15}$/u, "a whole number of at least 0")

/** Milliseconds since 1970. */
export const Millis = Schema.Int

/** An opaque cursor, so that its content may change. */
export const Opaque = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform<string, string>({
      decode: (text) => Buffer.from(text, "base64url").toString("utf8"),
      encode: (text) => Buffer.from(text, "utf8").toString("base64url"),
    }),
  ),
)

/** The content of the cursor of an instance page. */
const InstanceCursorFields = Schema.Struct({
  updatedAt: Schema.Int,
  machine: Schema.String,
  id: Schema.String,
  /** Of a search: the value of the field that it is ordered by. */
  value: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
})
export type InstanceCursorFields = typeof InstanceCursorFields.Type

export const InstanceCursor = Opaque.pipe(Schema.decodeTo(Schema.fromJsonString(InstanceCursorFields)))
