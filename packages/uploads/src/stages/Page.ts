/** Some items of a file, read: the content or the problem of each. */
import type { Position } from "../file/RawItem.ts"
import type { ReadTimes } from "../item/HNItemEntity.ts"
import type { ReadContent } from "../item/ReadContent.ts"

/** An item of the file and the result of reading it. */
export interface Item {
  readonly index: number
  readonly line: number
  readonly offset: number
  readonly read: ReadContent
  /** Its JSON, where it is bad: it is stored for a retry. The text of a good one is not kept in memory. */
  readonly text: string | undefined
}

/** At least one item. */
export interface Page extends ReadTimes {
  readonly items: ReadonlyArray<Item>
  /** The index of the first. */
  readonly from: number
  /** Where the file continues behind the last. */
  readonly end: Position
  /** Bytes of text that the items were read from. */
  readonly bytes: number
}

/**
 * How many items are read, checked and stored together, in one transaction. An item of 50,000 costs 57 µs of CPU by 2,000 and 62 by 1,000,
 * where there are more commits and the index of words is flushed more often. Other writers wait for a page.
 */
export const pageSize = 2000
