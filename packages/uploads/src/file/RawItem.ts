/** An item of a file before it is parsed, and positions between items. */

/** The layout of a file: one JSON array, or one item per line. */
export type Layout = "array" | "lines"

/** A position after an item, where reading can continue. */
export interface Position {
  /** How many items are before the position. */
  readonly index: number
  readonly offset: number
  readonly line: number
}

/** An unparsed item of a file. */
export interface RawItem {
  readonly index: number
  readonly offset: number
  readonly line: number
  /** The position after the item. */
  readonly endOffset: number
  readonly endLine: number
  /** Its JSON, unless it exceeds the size limit or is not UTF-8. */
  readonly text: string | undefined
  readonly problem: "too_large" | "not_utf8" | undefined
}

/** The position after an item, where reading continues. */
export const behind = ({ index, endOffset, endLine }: RawItem): Position => ({ index: index + 1, offset: endOffset, line: endLine })
