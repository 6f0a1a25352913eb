/** What an upload does with an item whose id is stored already, from an earlier upload. */
import * as Schema from "effect/Schema"

export const Existing = Schema.Literals([
  /** It replaces the stored item where its content differs. */
  "update",
  /** The stored item stays. */
  "skip",
])
export type Existing = typeof Existing.Type
